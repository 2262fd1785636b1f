//! How often each disturbance had an effect: one that never has is none.

use std::fmt;

/// What a disturbance has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A process was killed before a write, after it, and while it was under way.
    KilledBefore,
    KilledAfter,
    KilledUnderWay,
    /// A request was lost, and one was carried out without an answer.
    Lost,
    Unanswered,
    /// A request was carried out after its process had given it up.
    Late,
    /// A key with writes was planned while a watch that the process reads lagged or was stale.
    Stale,
    /// A watch has lost an event, and a list has shown what it lacked.
    Missed,
    /// A watch has shown a change after another watch of the same process had shown a later one.
    Reordered,
    /// A watch was refused.
    Refused,
    /// A watch was refused that had never listed its kind.
    NeverListed,
    /// A new term began, of a member agent or of the hub agent.
    Term,
    /// A process whose clock is off has planned writes, and one has written to a server whose clock is off.
    Clock,
    ServerClock,
    /// Requests did not get through to the hub.
    Cut,
    Restored,
    Wiped,
}

impl Effect {
    const ALL: [Self; 17] = [
        Self::KilledBefore,
        Self::KilledAfter,
        Self::KilledUnderWay,
        Self::Lost,
        Self::Unanswered,
        Self::Late,
        Self::Stale,
        Self::Missed,
        Self::Reordered,
        Self::Refused,
        Self::NeverListed,
        Self::Term,
        Self::Clock,
        Self::ServerClock,
        Self::Cut,
        Self::Restored,
        Self::Wiped,
    ];
}

/// How often each has come about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects([usize; Effect::ALL.len()]);

impl Effects {
    pub(crate) fn count(&mut self, effect: Effect) {
        self.count_all(effect, 1);
    }

    pub(crate) fn count_all(&mut self, effect: Effect, count: usize) {
        self.0[effect as usize] += count;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// Those that never came about.
    pub(crate) fn missing(&self) -> Vec<Effect> {
        Effect::ALL.into_iter().filter(|effect| self.0[*effect as usize] == 0).collect()
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |effect: &Effect| format!("{effect:?} {}", self.0[*effect as usize]);
        f.write_str(&Effect::ALL.iter().map(line).collect::<Vec<_>>().join(", "))
    }
}

#[test]
fn what_never_came_about_is_missing() {
    let mut effects = Effects::default();
    effects.count(Effect::Wiped);
    assert!(!effects.missing().contains(&Effect::Wiped));
    assert!(effects.missing().contains(&Effect::Late));
    assert!(effects.to_string().ends_with("Restored 0, Wiped 1"));
}
