//! Three agents of one member, with accounts and ways of their own and in one election.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::{Testbed, join, kubeconfig};
use rustix::process::{Pid, Signal, kill_process};

use crate::DEADLINE;

/// How many.
pub(crate) const REPLICAS: usize = 3;
const MEMBER: Agent = Agent::Member(0);
const LEASE_DURATION: &str = "LEADER_ELECTION_LEASE_DURATION";
/// Long enough to be renewed in time on a slow machine, short enough to wait for the end.
const ELECTION: [(&str, &str); 5] = [
    ("LEADER_ELECT", "true"),
    (LEASE_DURATION, "8s"),
    ("LEADER_ELECTION_RENEW_DEADLINE", "4s"),
    ("LEADER_ELECTION_RETRY_PERIOD", "500ms"),
    ("WRITE_TIMEOUT", "3s"),
];

/// One of them.
struct Replica {
    agents: Agents,
    /// Its way to its own cluster, where the Lease is.
    own: Proxy,
    /// Its way to the hub.
    hub: Proxy,
}

/// All of them; each is known by its position.
pub(crate) struct Replicas(Vec<Replica>);

impl Replicas {
    /// Starts the hub's agent and all of the member, and waits until all are ready.
    pub(crate) async fn start(testbed: &Testbed) -> Result<Self> {
        let mut replicas = Vec::new();
        for number in 0..REPLICAS {
            replicas.push(Replica::prepare(testbed, number).await?);
        }
        replicas[0].agents.launch(Agent::Hub)?;
        for replica in &mut replicas {
            replica.agents.launch(MEMBER)?;
            replica.agents.wait_ready().await?;
        }
        Ok(Self(replicas))
    }

    /// Waits until exactly one of those that run leads: who.
    pub(crate) async fn leader(&self) -> Result<usize> {
        wait_for("one of them leads", DEADLINE, async || {
            let mut leaders = Vec::new();
            for who in self.running() {
                if self.leads(who).await? {
                    leaders.push(who);
                }
            }
            Ok(if let [leader] = leaders[..] { Some(leader) } else { None })
        })
        .await
    }

    /// Waits until one leads that is not this one: who. This one may be in no state to answer.
    pub(crate) async fn follower_of(&self, former: usize) -> Result<usize> {
        wait_for("another leads", DEADLINE, async || {
            for who in self.running().filter(|&who| who != former) {
                if self.leads(who).await? {
                    return Ok(Some(who));
                }
            }
            Ok(None)
        })
        .await
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        (0..REPLICAS).filter(|&who| self.0[who].agents.pid(MEMBER).is_some())
    }

    async fn leads(&self, who: usize) -> Result<bool> {
        Ok(self.metric(who, "fleet_runtime_is_leader").await? == "1")
    }

    /// Waits until it has noticed that it lost the lease.
    pub(crate) async fn wait_lost(&self, who: usize) -> Result<()> {
        wait_until("the loss is noticed", DEADLINE, async || {
            let lost = "fleet_runtime_leader_changes_total{change=\"lost\"}";
            Ok(self.metric(who, lost).await? != "0" && !self.leads(who).await?)
        })
        .await
    }

    async fn metric(&self, who: usize, series: &str) -> Result<String> {
        let text = self.0[who].agents.metrics(MEMBER).await?;
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        Ok(value.with_context(|| format!("there is no {series}"))?.to_owned())
    }

    /// Waits until it is ready.
    pub(crate) async fn wait_ready(&mut self, who: usize) -> Result<()> {
        self.0[who].agents.wait_ready_of(MEMBER).await
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self, who: usize) -> Result<()> {
        self.0[who].agents.kill(MEMBER)
    }

    /// Starts one that has ended, and waits until it is ready.
    pub(crate) async fn launch(&mut self, who: usize) -> Result<()> {
        self.0[who].agents.launch(MEMBER)?;
        self.wait_ready(who).await
    }

    /// Starts all but one anew, which from now on leave others their lease for as long as can be.
    pub(crate) async fn make_patient_but(&mut self, one: usize) -> Result<()> {
        for who in (0..REPLICAS).filter(|&who| who != one) {
            self.0[who].agents.set_variable(MEMBER, LEASE_DURATION, "600s")?;
            self.0[who].agents.restart(MEMBER).await?;
        }
        Ok(())
    }

    /// SIGTERM, and a wait for the end.
    pub(crate) async fn stop(&mut self, who: usize) -> Result<()> {
        let status = self.0[who].agents.terminate(MEMBER).await?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }

    /// Its own API server answers it no more, without a word; the hub does.
    pub(crate) fn cut_off(&self, who: usize) {
        self.0[who].own.freeze();
    }

    /// Its own API server can be reached again.
    pub(crate) fn reconnect(&self, who: usize) {
        self.0[who].own.cut();
        self.0[who].own.open();
    }

    /// The connections to the hub of all but one never carry anything again, without a word; new ones work.
    pub(crate) fn strand_hub_of_all_but(&self, one: usize) {
        for who in (0..REPLICAS).filter(|&who| who != one) {
            self.0[who].hub.strand();
        }
    }

    /// SIGSTOP.
    pub(crate) fn freeze(&self, who: usize) -> Result<()> {
        self.signal(who, Signal::STOP)
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self, who: usize) -> Result<()> {
        self.signal(who, Signal::CONT)
    }

    fn signal(&self, who: usize, signal: Signal) -> Result<()> {
        let pid = self.0[who].agents.pid(MEMBER).context("it does not run")?;
        let pid = Pid::from_raw(i32::try_from(pid)?).context("0 is no process")?;
        Ok(kill_process(pid, signal)?)
    }
}

impl Replica {
    async fn prepare(testbed: &Testbed, number: usize) -> Result<Self> {
        let (hub, member) = (testbed.hub(), testbed.member(0));
        let folder = testbed.run_path().join("agents");
        let access = join::join_replica(hub, member, number, &folder).await?;
        let own = Proxy::to(&member.server_url()).await?;
        let way = Proxy::to(&hub.server_url()).await?;
        let through = access.kubeconfig.with_extension("through");
        kubeconfig::copy_for(&access.kubeconfig, &through, &own.url())?;
        let mut environment = join::member_environment(hub, member, &access);
        let links = [("KUBECONFIG", path(&through)), ("HUB_SERVER_URL", way.url())];
        environment.retain(|(name, _)| links.iter().all(|(known, _)| known != name));
        environment.extend(links.map(|(name, value)| (name.to_owned(), value)));
        let agents = Agents::prepare(testbed, &options(environment))?;
        Ok(Self { agents, own, hub: way })
    }
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn options(access: Vec<(String, String)>) -> AgentOptions {
    let election = ELECTION.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = access.into_iter().chain(election).collect();
    AgentOptions { of_agents: [(MEMBER, environment)].into(), ..AgentOptions::default() }
}
