//! Which target is dialled next, and the results of all.
//!
//! Two queues take turns: targets that have just failed, which are dialled again after a second until it is known whether they are
//! reached, and all others. Of these, the exporter that was dialled longest ago is next, and of an exporter the target that was: so a
//! member with many Services does not delay the news of one with few.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::cell::{Destination, Dial, Imported, Target};
use super::evidence::{Evidence, Failure, Suspect};
use super::outcome::Outcome;
use super::targets::Targets;

/// Time between two dials: five a second.
pub(crate) const EVERY: Duration = Duration::from_millis(200);
/// Dials that may wait for an answer at once.
const AT_ONCE: usize = 16;
/// Time after which a target is dialled again, if there is nothing else to do.
const REST: Duration = Duration::from_secs(2);
/// Time after which one that has failed is.
const SOON: Duration = Duration::from_secs(1);

/// Targets that take turns among themselves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Exporter(Arc<str>),
    Fronts,
}

impl Group {
    fn of(target: &Target) -> Self {
        match target {
            Target::Endpoints(cell) => Self::Exporter(Arc::clone(&cell.exporter)),
            Target::Address(_) | Target::Name(_) => Self::Fronts,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Ring {
    /// The one that was dialled longest ago is first.
    targets: VecDeque<Target>,
    dialled: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
struct State {
    evidence: Evidence,
    /// When it was dialled last.
    dialled: Option<Duration>,
    /// The destination of that dial.
    last: Option<Destination>,
    /// Whether it is among the suspects.
    is_suspect: bool,
}

/// All targets, and the results of them.
#[derive(Debug, Default)]
pub(crate) struct Prober {
    targets: Targets,
    states: BTreeMap<Target, State>,
    rings: BTreeMap<Group, Ring>,
    suspects: BTreeSet<(Duration, Target)>,
    waiting: BTreeSet<Target>,
    dialled: Option<Duration>,
    is_turn_of_suspects: bool,
    has_changed: bool,
}

impl Prober {
    /// Takes what may be dialled from now on. Results of a destination that is gone do not count any more.
    pub(crate) fn aim(&mut self, targets: Targets) {
        if targets == self.targets {
            return;
        }
        self.targets = targets;
        self.has_changed = true;
        let wanted: BTreeSet<_> = self.wanted().collect();
        self.states.retain(|target, _| wanted.contains(target));
        self.suspects.retain(|(_, target)| wanted.contains(target));
        for target in self.states.keys().cloned().collect::<Vec<_>>() {
            let there = self.destinations(&target);
            if let Some(state) = self.states.get_mut(&target) {
                state.evidence.keep(|to| there.contains(to));
            }
        }
        for ring in self.rings.values_mut() {
            ring.targets.retain(|target| wanted.contains(target));
        }
        // New ones first: nothing is known of them.
        for target in wanted {
            if !self.states.contains_key(&target) {
                self.states.insert(target.clone(), State::default());
                self.rings.entry(Group::of(&target)).or_default().targets.push_front(target);
            }
        }
        self.rings.retain(|_, ring| !ring.targets.is_empty());
    }

    fn wanted(&self) -> impl Iterator<Item = Target> {
        let cells = self.targets.cells.iter().filter(|(_, endpoints)| !endpoints.is_empty());
        let cells = cells.map(|(cell, _)| Target::Endpoints(cell.clone()));
        let fronts = self.targets.fronts.iter().flat_map(|(imported, front)| {
            let name = front.name.as_ref().map(|_| Target::Name(imported.clone()));
            std::iter::once(Target::Address(imported.clone())).chain(name)
        });
        cells.chain(fronts)
    }

    /// Where a dial of a target may go to.
    fn destinations(&self, target: &Target) -> Vec<Destination> {
        let connect = |address: &SocketAddr| Destination::Connect(*address);
        let front = |imported: &Imported| self.targets.fronts.get(imported);
        match target {
            Target::Endpoints(cell) => {
                self.targets.cells.get(cell).into_iter().flatten().map(connect).collect()
            }
            Target::Address(imported) => {
                front(imported).map(|front| connect(&front.address)).into_iter().collect()
            }
            Target::Name(imported) => {
                let resolve = front(imported).and_then(|front| {
                    let (name, address) = (Arc::clone(front.name.as_ref()?), front.address.ip());
                    Some(Destination::Resolve { name, address })
                });
                resolve.into_iter().collect()
            }
        }
    }

    /// The next dial, if it is time for one.
    pub(crate) fn next(&mut self, now: Duration) -> Option<Dial> {
        let is_early = self.dialled.is_some_and(|last| now.saturating_sub(last) < EVERY);
        if is_early || self.waiting.len() >= AT_ONCE {
            return None;
        }
        self.is_turn_of_suspects = !self.is_turn_of_suspects;
        let dial = if self.is_turn_of_suspects {
            self.suspect(now).or_else(|| self.routine(now))
        } else {
            self.routine(now).or_else(|| self.suspect(now))
        }?;
        self.dialled = Some(now);
        self.waiting.insert(dial.target.clone());
        let state = self.states.entry(dial.target.clone()).or_default();
        state.dialled = Some(now);
        state.last = Some(dial.to.clone());
        Some(dial)
    }

    fn suspect(&mut self, now: Duration) -> Option<Dial> {
        let due = self.suspects.iter().take_while(|(due, _)| *due <= now);
        let entry = due.filter(|(_, target)| !self.waiting.contains(target)).min().cloned()?;
        self.suspects.remove(&entry);
        let (_, target) = entry;
        let state = self.states.get_mut(&target)?;
        state.is_suspect = false;
        let to = match state.evidence.suspect()? {
            Suspect::This(to) => to.clone(),
            Suspect::Any => self.following(&target)?,
        };
        Some(Dial { target, to })
    }

    /// Of the group that was dialled longest ago, the target that was.
    fn routine(&mut self, now: Duration) -> Option<Dial> {
        let is_rested = |target: &Target| {
            let last = self.states.get(target).and_then(|state| state.dialled);
            last.is_none_or(|last| now.saturating_sub(last) >= REST)
        };
        let ready = self.rings.iter().filter_map(|(group, ring)| {
            let first = ring.targets.front()?;
            let may = is_rested(first) && !self.waiting.contains(first);
            may.then_some((ring.dialled, group))
        });
        let (_, group) = ready.min()?;
        let group = group.clone();
        let ring = self.rings.get_mut(&group)?;
        ring.dialled = Some(now);
        ring.targets.rotate_left(1);
        let target = ring.targets.back()?.clone();
        let to = self.following(&target)?;
        Some(Dial { target, to })
    }

    /// The destination after the last one.
    fn following(&self, target: &Target) -> Option<Destination> {
        let all = self.destinations(target);
        let last = self.states.get(target).and_then(|state| state.last.as_ref());
        let next = all.iter().find(|to| last.is_none_or(|last| *to > last));
        next.or_else(|| all.first()).cloned()
    }

    /// Takes the result of a dial.
    pub(crate) fn heard(&mut self, dial: &Dial, outcome: Outcome, now: Duration) {
        self.waiting.remove(&dial.target);
        let destinations = self.destinations(&dial.target);
        if !destinations.contains(&dial.to) {
            return;
        }
        let Some(state) = self.states.get_mut(&dial.target) else { return };
        let failure = Failure { at: now, to: dial.to.clone(), outcome };
        let before = state.evidence.summary();
        state.evidence.take(failure, destinations.len());
        self.has_changed |= before != state.evidence.summary();
        if state.evidence.suspect().is_some() && !state.is_suspect {
            state.is_suspect = true;
            self.suspects.insert((now.saturating_add(SOON), dial.target.clone()));
        }
    }

    /// Whether a verdict may be another one since this was last asked.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// What may be dialled.
    pub(crate) fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The results of a target.
    pub(crate) fn evidence(&self, target: &Target) -> Option<&Evidence> {
        self.states.get(target).map(|state| &state.evidence)
    }
}
