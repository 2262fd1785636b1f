//! A hub and its members, with the processes of their agents.

use std::time::Duration;

use fleet_api::kinds;
use hub_agent::snapshot::HubSnapshot;
use member_agent::snapshot::MemberSnapshot;

use crate::base::{self, Base};
use crate::effects::Effect;
use crate::env::Env;
use crate::hub::HubRole;
use crate::member::MemberRole;
use crate::process::Process;
use crate::servers::HUB;
use crate::watch::Watch;

/// Processes of the hub agent: one leads, the other stands by.
pub(crate) const HUB_PROCESSES: usize = 2;
/// For how long a process is down that a write has killed.
const DOWN_FOR: Duration = Duration::from_secs(3);

pub(crate) type HubProcess = Process<HubSnapshot, HubRole>;
pub(crate) type MemberProcess = Process<MemberSnapshot, MemberRole>;

pub(crate) struct Fleet {
    pub(crate) env: Env,
    pub(crate) hubs: Vec<HubProcess>,
    pub(crate) members: Vec<MemberProcess>,
    /// Until when each process has nothing to do, and how much its servers had written by then.
    idle: Vec<Option<(Duration, [usize; 2], u32)>>,
    /// Changes of each server that were looked at, those of them that count, and its life.
    counted: Vec<(usize, usize, u32)>,
}

/// Something to do with a process, of either kind.
macro_rules! with {
    ($fleet:expr, $at:expr, |$process:ident, $env:ident| $do:expr) => {{
        let $env = &mut $fleet.env;
        if $at < HUB_PROCESSES {
            let $process = &mut $fleet.hubs[$at];
            $do
        } else {
            let $process = &mut $fleet.members[$at - HUB_PROCESSES];
            $do
        }
    }};
}

impl Fleet {
    /// A fleet whose agents have just started.
    pub(crate) fn start(base: &Base, seed: u64) -> Self {
        let clock = base::clock(base.now);
        let env = Env::new(base, clock.clone(), seed);
        let hubs = (0..HUB_PROCESSES)
            .map(|at| Process::new(format!("hub-{at}"), HubRole::new(base::hub_settings())))
            .collect();
        let count = base.servers.0.len() - 1;
        let members = (0..count)
            .map(|at| {
                let role = MemberRole::new(at, base::member_settings(at), clock.clone());
                Process::new(base::member_name(at), role)
            })
            .collect();
        let idle = vec![None; HUB_PROCESSES + count];
        let counted = vec![(0, 0, 0); count + 1];
        let mut fleet = Self { env, hubs, members, idle, counted };
        fleet.hubs[0].lead(&mut fleet.env);
        for member in &mut fleet.members {
            member.lead(&mut fleet.env);
        }
        fleet
    }

    pub(crate) fn processes(&self) -> usize {
        HUB_PROCESSES + self.members.len()
    }

    pub(crate) fn name(&self, process: usize) -> String {
        if process < HUB_PROCESSES {
            self.hubs[process].name.clone()
        } else {
            self.members[process - HUB_PROCESSES].name.clone()
        }
    }

    /// Something was changed that a process cannot have noticed.
    pub(crate) fn stir(&mut self) {
        self.idle.fill(None);
    }

    /// What the servers of a process have written.
    fn written(&self, process: usize) -> [usize; 2] {
        let hub = self.env.servers.0[HUB].changes().len();
        let own = process.checked_sub(HUB_PROCESSES);
        let own = own.map_or(0, |at| self.env.servers.0[at + 1].changes().len());
        [hub, own]
    }

    fn has_something_to_do(&mut self, process: usize) -> bool {
        let written = self.written(process);
        let life = self.env.servers.0[HUB].life;
        let Some((until, seen, seen_life)) = &mut self.idle[process] else { return true };
        if *until <= self.env.now || *seen_life != life || seen[1] != written[1] {
            return true;
        }
        // Renewals are most of what is written, and few read them.
        let news = &self.env.servers.0[HUB].changes()[seen[0]..];
        let is_member = process >= HUB_PROCESSES;
        let matters = news.iter().any(|change| !is_member || change.kind != kinds::LEASE);
        if !matters {
            seen[0] = written[0];
        }
        matters
    }

    /// Lets everything happen that can happen until a time, or until `stop` holds after a round.
    pub(crate) fn run(&mut self, until: Duration, mut stop: impl FnMut(&Self) -> bool) {
        let mut order: Vec<usize> = (0..self.processes()).collect();
        loop {
            self.env.random.shuffle(&mut order);
            let mut acted = false;
            for process in &order {
                acted |= self.turns(*process);
            }
            if stop(self) || !self.env.findings.is_empty() {
                return;
            }
            if !acted {
                let idle = self.idle.iter().flatten().map(|(until, ..)| *until);
                let next = idle.chain(self.env.next_late()).min().unwrap_or(until).min(until);
                if next >= until {
                    self.env.advance(until);
                    return;
                }
                // Timers have a resolution.
                self.env.advance(next.max(self.env.now + Duration::from_millis(1)));
            } else if self.env.random.once_in(16) {
                let pause = self.env.random.within(1, 200);
                self.env.advance(self.env.now + Duration::from_millis(pause));
            }
            // Agents that never rest are a finding of the caller, which waits for that.
            if acted && self.env.now >= until {
                return;
            }
        }
    }

    /// A process does a few things.
    fn turns(&mut self, process: usize) -> bool {
        if !self.has_something_to_do(process) {
            return false;
        }
        let most = self.env.random.below(6) + 1;
        for turn in 0..most {
            let acted = with!(self, process, |it, env| {
                it.skip(env);
                it.turn(env)
            });
            if !acted {
                let written = self.written(process);
                let life = self.env.servers.0[HUB].life;
                let next = with!(self, process, |it, env| it.next_timer(env));
                let next = next.unwrap_or(Duration::MAX);
                self.idle[process] = Some((next, written, life));
                return turn > 0;
            }
            self.idle[process] = None;
        }
        true
    }

    /// Kills a process, and lets another one of its agent take over where there is one.
    pub(crate) fn kill(&mut self, process: usize) {
        with!(self, process, |it, env| {
            if it.is_up {
                it.crash(env);
            }
        });
        self.stir();
    }

    /// Starts a process anew, which leads if no other process of its agent does.
    pub(crate) fn restart(&mut self, process: usize) {
        if process < HUB_PROCESSES {
            let now = self.env.now;
            let refused = self.hubs[process].restart(HubRole::new(base::hub_settings()), now);
            self.env.effects.count_all(Effect::NeverListed, refused);
            if self.hubs.iter().all(|hub| !hub.leads) {
                self.hubs[process].lead(&mut self.env);
            }
        } else {
            let at = process - HUB_PROCESSES;
            let role = MemberRole::new(at, base::member_settings(at), self.env.clock.clone());
            let refused = self.members[at].restart(role, self.env.now);
            self.env.effects.count_all(Effect::NeverListed, refused);
            self.members[at].lead(&mut self.env);
        }
        self.stir();
    }

    /// The other process of the hub agent takes over, if it runs.
    pub(crate) fn hand_over(&mut self) {
        let leader = self.hubs.iter().position(|hub| hub.leads);
        let next = leader.map_or(0, |leader| 1 - leader);
        if !self.hubs[next].is_up {
            return;
        }
        if let Some(leader) = leader {
            self.hubs[leader].stand_by();
            self.env.effects.count(Effect::Term);
        }
        self.hubs[next].lead(&mut self.env);
        self.stir();
    }

    pub(crate) fn is_up(&self, process: usize) -> bool {
        if process < HUB_PROCESSES {
            self.hubs[process].is_up
        } else {
            self.members[process - HUB_PROCESSES].is_up
        }
    }

    /// Changes something about one of the watches of a process.
    pub(crate) fn disturb(&mut self, process: usize, watch: usize, how: &Disturbance) {
        let now = self.env.now;
        with!(self, process, |it, env| {
            it.has_changed();
            let watches = it.watches();
            let count = watches.len();
            if *how == Disturbance::Lose {
                // Most kinds have few events.
                watches.iter_mut().skip(watch % 3).step_by(3).for_each(Watch::lose_event);
                return self.stir();
            }
            let watch = &mut watches[watch % count];
            if watch.server != crate::watch::PROVIDED {
                match how {
                    Disturbance::Silence(time) => watch.silent_until = now + *time,
                    Disturbance::Lose => {}
                    Disturbance::Relist => watch.relist(),
                    Disturbance::Interrupt => watch.interrupt(),
                    Disturbance::Refuse(time) => {
                        env.effects.count(Effect::Refused);
                        watch.refuse(now, now + *time);
                    }
                }
            }
        });
        self.stir();
    }

    /// A member agent loses its Lease for a moment, and leads again.
    pub(crate) fn new_term(&mut self, member: usize) {
        let process = &mut self.members[member];
        if process.is_up {
            process.stand_by();
            process.lead(&mut self.env);
            self.env.effects.count(Effect::Term);
            self.stir();
        }
    }

    /// Processes that a write has killed start again a while later.
    pub(crate) fn revive(&mut self) {
        let since = self.env.now.saturating_sub(DOWN_FOR);
        for process in 0..self.processes() {
            let name = self.name(process);
            let is_due = self.env.fallen.get(&name).is_some_and(|at| *at <= since);
            if is_due {
                self.env.fallen.remove(&name);
                if !self.is_up(process) {
                    self.restart(process);
                }
            }
        }
    }

    /// Sets the clock of a process.
    pub(crate) fn step_clock(&mut self, process: usize, seconds: i64) {
        with!(self, process, |it, _env| it.skew = seconds);
        self.stir();
    }
}

/// What can go wrong with a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// It shows nothing for this time.
    Silence(Duration),
    /// It loses an event, as every third watch of the process does from this one on, and lists again later.
    Lose,
    Relist,
    Interrupt,
    /// The server refuses it for this time, or does not serve the kind.
    Refuse(Duration),
}

/// What is written although nothing changes.
pub(crate) const SIGNS_OF_LIFE: [fleet_api::ResourceKind; 3] =
    [kinds::LEASE, kinds::INTERNAL_MEMBER_CLUSTER, kinds::FLEET_TRAFFIC];

impl Fleet {
    /// Watches that were silent show everything again.
    pub(crate) fn hear(&mut self) {
        for process in 0..self.processes() {
            with!(self, process, |it, _env| {
                for watch in it.watches() {
                    watch.mend();
                }
            });
        }
    }

    /// How much agents have written, but for signs of life.
    pub(crate) fn relevant_writes(&mut self) -> usize {
        for (server, count) in self.env.servers.0.iter().zip(&mut self.counted) {
            let (seen, relevant, life) = count;
            if *life != server.life {
                (*seen, *life) = (0, server.life);
            }
            let new = server.changes()[*seen..].iter().zip(&server.authors[*seen..]);
            let new = new.filter(|(change, author)| {
                author.is_agent() && !SIGNS_OF_LIFE.contains(&change.kind)
            });
            *relevant += new.count();
            *seen = server.changes().len();
        }
        self.counted.iter().map(|(_, relevant, _)| relevant).sum()
    }
}
