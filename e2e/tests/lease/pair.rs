//! Two agents of one member, with accounts of their own and in one election.

use anyhow::{Context, Result, ensure};
use fleet_e2e::testbed::Testbed;
use fleet_e2e::testbed::agents::{Agent, AgentOptions, Agents};
use fleet_e2e::testbed::join;
use fleet_e2e::wait::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use crate::DEADLINE;

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

/// The two; each is known by its position.
pub(crate) struct Pair([Agents; 2]);

impl Pair {
    /// Starts the hub's agent and both of the member, and waits until all are ready.
    pub(crate) async fn start(testbed: &Testbed) -> Result<Self> {
        let (hub, member) = (testbed.hub(), testbed.member(0));
        let folder = testbed.run_path().join("agents");
        let twin = join::join_twin(hub, member, &folder).await?;
        let twin = join::member_environment(hub, member, &twin);
        let mut first = Agents::prepare(testbed, &options(Vec::new()))?;
        let mut second = Agents::prepare(testbed, &options(twin))?;
        first.launch(Agent::Hub)?;
        for agents in [&mut first, &mut second] {
            agents.launch(MEMBER)?;
            agents.wait_ready().await?;
        }
        Ok(Self([first, second]))
    }

    /// Waits until exactly one of them leads: who, and who stands by. Both must run.
    pub(crate) async fn roles(&self) -> Result<(usize, usize)> {
        wait_for("one of the two leads", DEADLINE, async || {
            Ok(match (self.leads(0).await?, self.leads(1).await?) {
                (true, false) => Some((0, 1)),
                (false, true) => Some((1, 0)),
                _ => None,
            })
        })
        .await
    }

    async fn leads(&self, who: usize) -> Result<bool> {
        Ok(self.metric(who, "fleet_runtime_is_leader").await? == "1")
    }

    pub(crate) async fn wait_leads(&self, who: usize) -> Result<()> {
        wait_until("the other leads", DEADLINE, async || self.leads(who).await).await
    }

    /// Waits until it has noticed that it lost the lease.
    pub(crate) async fn wait_lost(&self, who: usize) -> Result<()> {
        wait_until("the loss is noticed", DEADLINE, async || {
            let lost = "fleet_runtime_leader_changes_total{change=\"lost\"}";
            Ok(self.metric(who, lost).await? == "1" && !self.leads(who).await?)
        })
        .await
    }

    async fn metric(&self, who: usize, series: &str) -> Result<String> {
        let text = self.0[who].metrics(MEMBER).await?;
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        Ok(value.with_context(|| format!("there is no {series}"))?.to_owned())
    }

    pub(crate) async fn ensure_ready(&self, who: usize) -> Result<()> {
        let (status, reasons) = self.0[who].readiness(MEMBER).await?;
        ensure!(status == 200, "{reasons}");
        Ok(())
    }

    pub(crate) fn kill(&mut self, who: usize) -> Result<()> {
        self.0[who].kill(MEMBER)
    }

    /// Starts one that was killed, and waits until it is ready.
    pub(crate) async fn launch(&mut self, who: usize) -> Result<()> {
        self.0[who].launch(MEMBER)?;
        self.0[who].wait_ready_of(MEMBER).await
    }

    /// Starts one anew, which from now on leaves others their lease for as long as can be.
    pub(crate) async fn make_patient(&mut self, who: usize) -> Result<()> {
        self.0[who].set_variable(MEMBER, LEASE_DURATION, "600s")?;
        self.0[who].restart(MEMBER).await
    }

    /// SIGTERM, and a wait for the end.
    pub(crate) async fn stop(&mut self, who: usize) -> Result<()> {
        let status = self.0[who].terminate(MEMBER).await?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
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
        let pid = self.0[who].pid(MEMBER).context("it does not run")?;
        let pid = Pid::from_raw(i32::try_from(pid)?).context("0 is no process")?;
        Ok(kill_process(pid, signal)?)
    }
}

fn options(access: Vec<(String, String)>) -> AgentOptions {
    let election = ELECTION.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = access.into_iter().chain(election).collect();
    AgentOptions { of_agents: [(MEMBER, environment)].into(), ..AgentOptions::default() }
}
