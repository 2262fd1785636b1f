//! Every order in which the agent, kube-controller-manager and users can act on one Service, with an agent that is killed after any
//! write: some slice has the own endpoint that is always ready, and the end is that of the mode asked for last.

use std::collections::HashSet;

use crate::{Handover, HandoverSteps, LocalEndpoints};

/// Endpoints of the exported Service: one is always ready, another one comes and goes.
type Both = bool;

/// Which Pods a Service selects.
type Pods = bool;

/// The selector of the derived Service.
type Selector = Option<Pods>;

/// Kubernetes' slices have endpoints of these Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct There {
    pods: Pods,
    both: Both,
}

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
    selector: Option<Selector>,
    sweep: bool,
    hints: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
struct World {
    mode: bool,
    exported: bool,
    both: Both,
    pods: Pods,
    selector: Selector,
    kubernetes: Option<There>,
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
            pods: false,
            selector: None,
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
        let follows = self.selector == Some(self.pods);
        let is_all = |there: There| there.pods == self.pods && (there.both || !self.both);
        let handover = Handover {
            exported: self.exported,
            selected: self.selector.is_some(),
            hinted: self.hints,
            written: self.kubernetes.is_some(),
            lingers: self.kubernetes.is_some(),
            covered: follows && self.kubernetes.is_some_and(is_all),
            recorded: follows && self.own.is_some_and(|own| !own.bound),
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
        let selector = match self.selector {
            _ if !steps.selects => None,
            there if !self.mode || !self.exported => there,
            _ => Some(self.pods),
        };
        Pending {
            own,
            selector: (selector != self.selector).then_some(selector),
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
        // Another selector is written after own slices.
        let is_other = self.selector.is_some() && self.pending.selector.flatten().is_some();
        let waits = is_other && self.pending.own != OwnWrite::None;
        if let Some(selector) = self.pending.selector.filter(|_| !waits) {
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
        all.push(self.of_kubernetes());
        all.push(Self { pods: !self.pods, ..self });
        all.push(Self { mode: !self.mode, ..self });
        all.push(Self { both: !self.both, ..self });
        all
    }

    /// What kube-controller-manager makes of it.
    fn of_kubernetes(self) -> Self {
        let there = self.selector.map(|pods| There { pods, both: self.both });
        Self { kubernetes: there.or(self.kubernetes), ..self }
    }

    /// Whether clients reach the endpoint that is always ready. Pods of the selector that the derived Service has still may go before
    /// the agent looks.
    fn serves(&self) -> bool {
        let is_behind = self.selector.is_some_and(|pods| pods != self.pods);
        let is_there = self.kubernetes.is_some_and(|there| there.pods == self.pods);
        is_behind || is_there || self.own.is_some_and(|own| own.bound)
    }

    /// What the agent and kube-controller-manager make of it when nothing else happens.
    fn settled(mut self) -> Self {
        for _ in 0..20 {
            let before = self;
            self = self.of_kubernetes();
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
        assert!(
            !world.hints || world.selector.is_none() && world.kubernetes.is_none(),
            "{world:?}"
        );
    }
}

#[test]
fn the_end_is_that_of_the_mode_asked_for_last() {
    for world in reachable() {
        let end = world.settled();
        let own = Some(Own { both: world.both, bound: !world.mode });
        let selector = world.mode.then_some(world.pods);
        let there = world.mode.then_some(There { pods: world.pods, both: world.both });
        assert_eq!((end.selector, end.own, end.hints), (selector, own, !world.mode), "{world:?}");
        assert_eq!(end.kubernetes, there, "{world:?}");
    }
}

#[test]
fn nothing_stays_of_an_export_that_is_gone() {
    for world in reachable() {
        let end = World { exported: false, ..world }.settled();
        assert_eq!((end.selector, end.own, end.kubernetes), (None, None, None), "{world:?}");
        assert!(end.hints, "{world:?}");
    }
}
