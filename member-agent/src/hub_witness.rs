//! Whether the address of the hub leads to one cluster.
//!
//! Each connection may lead to another one: two hubs behind one load balancer, or a copy that was started beside the first. Watches
//! stay with what they are connected to, so that each source may show another hub, and none of them goes back in time. So questions
//! are asked on connections of their own, while anything is in doubt, and the answers are compared.

use std::time::Duration;

/// How long signs count, and how long the answers have to agree.
const CALM: Duration = Duration::from_mins(1);
/// How many answers have to agree at least.
const ANSWERS: u32 = 3;
/// How many signs prove that there are two hubs.
const ENOUGH: u32 = 2;
/// How many earlier answers are remembered.
const REMEMBERED: usize = 16;

/// One answer of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What distinguishes this hub: uid of the report of this cluster, and the incarnation that the hub agent has answered; `None`
    /// without a report.
    pub(crate) hub: Option<String>,
    /// The version of the list.
    pub(crate) version: u64,
}

/// What the answers have shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    last: Option<Answer>,
    /// Other hubs that have answered, and when they did last.
    others: Vec<(Option<String>, Duration)>,
    /// When a sign of a second hub was seen last, and how many were since the answers agreed.
    sign: Option<Duration>,
    signs: u32,
    /// Answers since the last sign.
    agreeing: u32,
    is_inconsistent: bool,
}

impl Witness {
    /// Takes note of an answer. A hub that comes back after another one proves that there are two. A version that is lower than one
    /// before is a sign: one alone is what a restore looks like.
    pub(crate) fn observe(&mut self, answer: Answer, now: Duration) {
        self.others.retain(|(_, seen)| now < *seen + CALM);
        let signs = self.signs_in(&answer);
        if signs > 0 {
            let goes_on = self.sign.is_some() && self.is_doubtful(now);
            self.signs = signs + if goes_on { self.signs } else { 0 };
            self.sign = Some(now);
            self.agreeing = 0;
        } else {
            self.agreeing = self.agreeing.saturating_add(1);
        }
        if let Some(last) = self.last.take().filter(|last| last.hub != answer.hub) {
            self.others.retain(|(hub, _)| *hub != last.hub);
            self.others.truncate(REMEMBERED - 1);
            self.others.insert(0, (last.hub, now));
        }
        self.last = Some(answer);
        self.is_inconsistent |= self.signs >= ENOUGH;
        if self.sign.is_some() && !self.is_doubtful(now) {
            (self.is_inconsistent, self.signs) = (false, 0);
        }
    }

    /// Takes note that the hub refuses to answer: it does not serve reports, as an earlier release, or forbids them. That does not
    /// change by asking on.
    pub(crate) fn observe_refusal(&mut self) {
        if self.sign.is_none() {
            self.agreeing = self.agreeing.saturating_add(1);
        }
    }

    fn signs_in(&self, answer: &Answer) -> u32 {
        let Some(last) = &self.last else { return 0 };
        let comes_back =
            last.hub != answer.hub && self.others.iter().any(|(hub, _)| *hub == answer.hub);
        if comes_back { ENOUGH } else { u32::from(answer.version < last.version) }
    }

    /// Whether further answers are needed.
    pub(crate) fn is_doubtful(&self, now: Duration) -> bool {
        // A process that starts takes the first answer of each source for the hub's.
        let Some(sign) = self.sign else { return self.agreeing < ANSWERS };
        now < sign + CALM || (self.is_inconsistent && self.agreeing < ANSWERS)
    }

    /// Whether more than one hub answers.
    pub(crate) fn is_inconsistent(&self) -> bool {
        self.is_inconsistent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What is known after these answers, one each five seconds, of hubs by name.
    fn after(answers: &[(&str, u64)]) -> Witness {
        let mut witness = Witness::default();
        for (at, (hub, version)) in (0..).zip(answers) {
            witness.observe(answer(hub, *version), at * 5 * SECOND);
        }
        witness
    }

    fn answer(hub: &str, version: u64) -> Answer {
        Answer { hub: (!hub.is_empty()).then(|| hub.to_owned()), version }
    }

    #[test]
    fn one_hub_that_changes_is_one() {
        for answers in [
            // At rest, rebuilt, restored with and without a new epoch.
            &[("a/0", 10), ("a/0", 10), ("a/0", 12)][..],
            &[("a/0", 10), ("", 2), ("b", 3), ("b/0", 4)],
            &[("a/0", 10), ("a/0", 4), ("a/1", 5), ("a/1", 6)],
            &[("a/0", 10), ("a/0", 4), ("a/0", 11)],
        ] {
            assert!(!after(answers).is_inconsistent(), "{answers:?}");
        }
    }

    #[test]
    fn hubs_that_answer_in_turns_are_two() {
        for answers in [
            &[("a/0", 10), ("b/0", 900), ("a/0", 11)][..],
            // An empty one, and a copy.
            &[("a/0", 10), ("", 2), ("a/0", 11)],
            &[("a/0", 10), ("a/0", 900), ("a/0", 11), ("a/0", 901), ("a/0", 12)],
        ] {
            assert!(after(answers).is_inconsistent(), "{answers:?}");
        }
    }

    /// One of them is removed.
    #[test]
    fn a_minute_of_equal_answers_ends_it() {
        let mut witness = after(&[("a/0", 10), ("b/0", 2), ("a/0", 11)]);
        let mut now = 10 * SECOND;
        while now < 65 * SECOND {
            now += 5 * SECOND;
            assert!(witness.is_inconsistent() && witness.is_doubtful(now), "{now:?}");
            witness.observe(answer("a/0", 12), now);
        }
        now += 5 * SECOND;
        witness.observe(answer("a/0", 12), now);
        assert!(!witness.is_inconsistent() && !witness.is_doubtful(now));
        // The other one had been removed instead.
        witness.observe(answer("b/0", 1000), now + SECOND);
        assert!(!witness.is_inconsistent());
    }

    /// Where a source is connected shows in nothing that came before.
    #[test]
    fn a_process_that_starts_asks_until_a_few_answers_agree() {
        let asked = |answers: &[(&str, u64)]| after(answers).is_doubtful(SECOND);
        assert!(asked(&[]) && asked(&[("a/0", 10), ("a/0", 10)]));
        assert!(!asked(&[("a/0", 10), ("a/0", 10), ("a/0", 11)]));
    }

    /// A hub without reports would be asked for ever.
    #[test]
    fn a_hub_that_refuses_is_asked_a_few_times() {
        let mut witness = Witness::default();
        for _ in 0..ANSWERS {
            assert!(witness.is_doubtful(SECOND));
            witness.observe_refusal();
        }
        assert!(!witness.is_doubtful(SECOND));
        // It proves nothing about two hubs.
        let mut witness = after(&[("a/0", 10), ("b/0", 2), ("a/0", 11)]);
        (0..ANSWERS).for_each(|_| witness.observe_refusal());
        assert!(witness.is_inconsistent() && witness.is_doubtful(Duration::from_mins(10)));
    }

    /// Nothing was asked for a while: few answers prove nothing.
    #[test]
    fn time_alone_does_not_end_it() {
        let mut witness = after(&[("a/0", 10), ("b/0", 2), ("a/0", 11)]);
        let later = Duration::from_mins(10);
        for _ in 0..ANSWERS - 1 {
            witness.observe(answer("a/0", 12), later);
            assert!(witness.is_inconsistent() && witness.is_doubtful(later));
        }
        witness.observe(answer("a/0", 12), later);
        assert!(!witness.is_inconsistent());
    }
}
