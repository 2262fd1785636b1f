//! Every order in which the agent, kube-controller-manager and users can act on one Service, with an agent that is killed after any
//! write: some slice has the own endpoint that is always ready, and the end is that of the mode asked for last.

use std::collections::HashSet;

use crate::{Handover, HandoverSteps, LocalEndpoints};

/// Endpoints of the exported Service: one is always ready, another one comes and goes.
type Both = bool;

/// A slice of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Own {
    both: Both,
    bound: bool,
}

/// The write of it in a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum OwnWrite {
    #[default]
    None,
    Delete,
    To(Own),
}

/// Writes that a plan has and that were not carried out yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Pending {
    own: OwnWrite,
    selector: Option<bool>,
    sweep: bool,
    hints: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
struct World {
    mode: bool,
    exported: bool,
    both: Both,
    selector: bool,
    kubernetes: Option<Both>,
    own: Option<Own>,
    hints: bool,
    pending: Pending,
}

impl World {
    /// In mode Agent, at rest.
    fn begin() -> Self {
        Self {
            mode: false,
            exported: true,
            both: false,
            selector: false,
            kubernetes: None,
            own: Some(Own { both: false, bound: true }),
            hints: true,
            pending: Pending::default(),
        }
    }

    fn mode(&self) -> LocalEndpoints {
        if self.mode { LocalEndpoints::Kubernetes } else { LocalEndpoints::Agent }
    }

    fn steps(&self) -> HandoverSteps {
        let handover = Handover {
            exported: self.exported,
            selected: self.selector,
            hinted: self.hints,
            written: self.kubernetes.is_some(),
            lingers: self.kubernetes.is_some(),
            covered: self.kubernetes.is_some_and(|there| there || !self.both),
            recorded: self.own.is_some_and(|own| !own.bound),
            bound: self.own.is_some_and(|own| own.bound),
        };
        let mode = if self.exported { self.mode() } else { LocalEndpoints::Agent };
        handover.steps(mode)
    }

    /// What a plan writes.
    fn plan(&self) -> Pending {
        let steps = self.steps();
        let own = self.exported.then_some(Own { both: self.both, bound: !steps.records });
        let own = match own {
            _ if own == self.own => OwnWrite::None,
            Some(own) => OwnWrite::To(own),
            None => OwnWrite::Delete,
        };
        Pending {
            own,
            selector: (steps.selects != self.selector).then_some(steps.selects),
            sweep: steps.sweeps,
            hints: (steps.plain == self.hints).then_some(!steps.plain),
        }
    }

    /// Each write of a plan, alone.
    fn writes(self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.pending.own != OwnWrite::None {
            let own = if let OwnWrite::To(own) = self.pending.own { Some(own) } else { None };
            let pending = Pending { own: OwnWrite::None, ..self.pending };
            all.push(Self { own, pending, ..self });
        }
        if let Some(selector) = self.pending.selector {
            let pending = Pending { selector: None, ..self.pending };
            all.push(Self { selector, pending, ..self });
        }
        if self.pending.sweep {
            let pending = Pending { sweep: false, ..self.pending };
            all.push(Self { kubernetes: None, pending, ..self });
        }
        if let Some(hints) = self.pending.hints {
            let pending = Pending { hints: None, ..self.pending };
            all.push(Self { hints, pending, ..self });
        }
        all
    }

    /// All that may happen next.
    fn next(self) -> Vec<Self> {
        let mut all = self.writes();
        if self.pending == Pending::default() {
            all.push(Self { pending: self.plan(), ..self });
        } else {
            // The agent is killed.
            all.push(Self { pending: Pending::default(), ..self });
        }
        if self.selector {
            all.push(Self { kubernetes: Some(self.both), ..self });
        }
        all.push(Self { mode: !self.mode, ..self });
        all.push(Self { both: !self.both, ..self });
        all
    }

    /// Whether clients reach the endpoint that is always ready.
    fn serves(&self) -> bool {
        self.kubernetes.is_some() || self.own.is_some_and(|own| own.bound)
    }

    /// What the agent and kube-controller-manager make of it when nothing else happens.
    fn settled(mut self) -> Self {
        for _ in 0..20 {
            let before = self;
            if self.selector {
                self.kubernetes = Some(self.both);
            }
            self.pending = self.plan();
            while let Some(next) = self.writes().into_iter().next() {
                self = next;
            }
            if self == before {
                return self;
            }
        }
        panic!("no rest: {self:?}")
    }
}

fn reachable() -> HashSet<World> {
    let mut seen = HashSet::from([World::begin()]);
    let mut left = vec![World::begin()];
    while let Some(world) = left.pop() {
        for next in world.next() {
            if seen.insert(next) {
                left.push(next);
            }
        }
    }
    seen
}

#[test]
fn own_endpoints_serve_at_every_moment() {
    let all = reachable();
    assert!(all.len() > 300, "{}", all.len());
    assert!(all.iter().any(|world| world.own.is_some_and(|own| !own.bound)), "none steps aside");
    for world in &all {
        assert!(world.serves(), "{world:?}");
        // One ready endpoint without hints makes proxies ignore those of all others.
        assert!(!world.hints || !world.selector && world.kubernetes.is_none(), "{world:?}");
    }
}

#[test]
fn the_end_is_that_of_the_mode_asked_for_last() {
    for world in reachable() {
        let end = world.settled();
        let own = Some(Own { both: world.both, bound: !world.mode });
        assert_eq!((end.selector, end.own, end.hints), (world.mode, own, !world.mode), "{world:?}");
        assert_eq!(end.kubernetes, world.mode.then_some(world.both), "{world:?}");
    }
}

#[test]
fn nothing_stays_of_an_export_that_is_gone() {
    for world in reachable() {
        let end = World { exported: false, ..world }.settled();
        assert_eq!((end.selector, end.own, end.kubernetes), (false, None, None), "{world:?}");
        assert!(end.hints, "{world:?}");
    }
}
