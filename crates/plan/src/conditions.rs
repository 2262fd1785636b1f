//! Conditions that change only when something changed.

use std::iter;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// What a condition should contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Condition type.
    pub type_: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Machine-readable reason.
    pub reason: String,
    /// One sentence for a person.
    pub message: String,
    /// Generation of the object the condition is about.
    pub generation: i64,
}

/// The condition of a type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of a type has a status.
pub fn is(conditions: &[Condition], type_: &str, status: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == status)
}

/// `conditions` with `wanted` in place, or `None` if they have it already.
///
/// The transition time moves only with the status (API conventions); other conditions and the
/// order stay as they are.
pub fn apply(
    conditions: &[Condition],
    wanted: impl IntoIterator<Item = Wanted>,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    // Most plans find everything in place, and copy nothing.
    let mut wanted = wanted.into_iter().skip_while(|wanted| is_in_place(conditions, wanted));
    let first = wanted.next()?;
    let mut result = conditions.to_vec();
    for wanted in iter::once(first).chain(wanted) {
        match result.iter_mut().find(|condition| condition.type_ == wanted.type_) {
            Some(condition) => *condition = merged(condition, wanted, now),
            None => result.push(fresh(wanted, now)),
        }
    }
    (result != conditions).then_some(result)
}

fn is_in_place(conditions: &[Condition], wanted: &Wanted) -> bool {
    let Wanted { type_, status, reason, message, generation } = wanted;
    find(conditions, type_).is_some_and(|present| {
        present.status == *status
            && present.reason == *reason
            && present.message == *message
            && present.observed_generation == Some(*generation)
    })
}

fn merged(old: &Condition, wanted: Wanted, now: Timestamp) -> Condition {
    let flipped = old.status != wanted.status;
    let since = if flipped { whole_seconds(now) } else { old.last_transition_time.clone() };
    Condition { last_transition_time: since, ..fresh(wanted, now) }
}

fn fresh(wanted: Wanted, now: Timestamp) -> Condition {
    Condition {
        type_: wanted.type_.to_owned(),
        status: wanted.status,
        reason: wanted.reason,
        message: wanted.message,
        observed_generation: Some(wanted.generation),
        last_transition_time: whole_seconds(now),
    }
}

/// The server keeps seconds only; a finer time would differ from what comes back.
pub fn whole_seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn wanted() -> impl Strategy<Value = Wanted> {
        let fields = (0..2_usize, 0..2_usize, 0..2_usize, 0..2_usize, 1..3_i64);
        fields.prop_map(|(type_, status, reason, message, generation)| Wanted {
            type_: ["Valid", "Conflict"][type_],
            status: ["True", "False"][status].to_owned(),
            reason: ["One", "Other"][reason].to_owned(),
            message: ["one", "other"][message].to_owned(),
            generation,
        })
    }

    fn present() -> impl Strategy<Value = Vec<Condition>> {
        let since = Timestamp::from_second(7).unwrap();
        vec(wanted().prop_map(move |wanted| fresh(wanted, since)), 0..3)
    }

    proptest! {
        /// Each wanted condition is put into its place, one after the other.
        #[test]
        fn conditions_are_applied_as_defined(present in present(), wanted in vec(wanted(), 0..4)) {
            let now = Timestamp::from_second(9).unwrap();
            let mut expected = present.clone();
            for wanted in wanted.clone() {
                match expected.iter_mut().find(|condition| condition.type_ == wanted.type_) {
                    Some(condition) => *condition = merged(condition, wanted, now),
                    None => expected.push(fresh(wanted, now)),
                }
            }
            let applied = apply(&present, wanted, now);
            prop_assert_eq!(applied.is_some(), expected != present);
            prop_assert_eq!(applied.unwrap_or(present), expected);
        }
    }
}
