//! The agents as separate processes, with the credentials a user would give them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::future::try_join_all;
use rustix::process::Signal;

use super::ports::free_port;
use super::process::{Launch, Server};
use super::state::RunDir;
pub use crate::agent::{AGENTS_FOLDER, Agent, FOREIGN, find_program};
use crate::agent::{program_in, programs_folder};
use crate::fleet::Fleet;
use crate::plain_http;
use crate::wait::{wait_for, wait_until};

/// How long derived Services outlive their exporters.
pub const GRACE_PERIOD: &str = "DERIVED_SERVICE_GRACE_PERIOD";

const READY_DEADLINE: Duration = Duration::from_mins(2);
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// How agents are started.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// Folder of `hub-agent` and `member-agent`; by default `FLEET_AGENTS_DIR`, else beside the running program.
    pub programs: Option<PathBuf>,
    /// Further arguments of every agent.
    pub arguments: Vec<String>,
    /// Further variables of every agent, for example `RUST_LOG`.
    pub environment: Vec<(String, String)>,
    /// Variables of single agents, which win over all others.
    pub of_agents: BTreeMap<Agent, Vec<(String, String)>>,
}

/// The agents of a fleet. Dropping it kills them.
#[derive(Debug)]
pub struct Agents {
    processes: BTreeMap<Agent, AgentProcess>,
    run: Arc<RunDir>,
}

#[derive(Debug)]
struct AgentProcess {
    launch: Launch,
    metrics_port: u16,
    health_port: u16,
    server: Option<Server>,
}

impl Agents {
    /// Starts the hub agent and all member agents and waits until each is ready.
    pub async fn start(fleet: &Fleet, options: &AgentOptions) -> Result<Self> {
        let mut agents = Self::prepare(fleet, options)?;
        for agent in fleet.agents() {
            agents.launch(agent)?;
        }
        agents.wait_ready().await?;
        Ok(agents)
    }

    /// Prepares all agents and starts none; [`Self::launch`] does.
    pub fn prepare(fleet: &Fleet, options: &AgentOptions) -> Result<Self> {
        let folder = fleet.run().folder("agents")?;
        let programs = options.programs.clone().map_or_else(programs_folder, Ok)?;
        let mut processes = BTreeMap::new();
        for agent in fleet.agents() {
            let (metrics_port, health_port) = (free_port()?, free_port()?);
            let name = fleet.agent_name(agent);
            let addresses = [
                format!("--metrics-bind-address={}:{metrics_port}", Ipv4Addr::LOCALHOST),
                format!("--health-probe-bind-address={}:{health_port}", Ipv4Addr::LOCALHOST),
            ];
            let arguments = fleet.agent_arguments(agent).iter().cloned().chain(addresses);
            let arguments = arguments.chain(options.arguments.iter().cloned());
            let mut environment = fleet.agent_env(agent);
            // An agent that is killed and started again would wait for its own lease to expire.
            environment.push(("LEADER_ELECT".to_owned(), "false".to_owned()));
            environment.extend(at_once());
            environment.extend(options.environment.iter().cloned());
            environment.extend(options.of_agents.get(&agent).into_iter().flatten().cloned());
            // An argument of a chart would win over a variable of a test.
            let is_set =
                |argument: &String| environment.iter().any(|(name, _)| sets(argument, name));
            let launch = Launch {
                program: program_in(&programs, agent.program())?,
                arguments: arguments.filter(|one| !is_set(one)).map(Into::into).collect(),
                environment,
                without: FOREIGN.iter().map(|&name| name.to_owned()).collect(),
                log: folder.join(format!("{name}.log")),
                name,
            };
            let process = AgentProcess { launch, metrics_port, health_port, server: None };
            processes.insert(agent, process);
        }
        Ok(Self { processes, run: Arc::clone(fleet.run()) })
    }

    /// Starts one agent unless it runs, without waiting for it.
    pub fn launch(&mut self, agent: Agent) -> Result<()> {
        let run = Arc::clone(&self.run);
        let process = self.process_mut(agent)?;
        if process.server.as_mut().is_some_and(|server| server.exited().is_none()) {
            return Ok(());
        }
        process.server = Some(Server::start(&process.launch, &run)?);
        Ok(())
    }

    /// SIGKILL. It must be running.
    pub fn kill(&mut self, agent: Agent) -> Result<()> {
        let server = self.process_mut(agent)?.server.take();
        server.context("the agent does not run").map(drop)
    }

    /// SIGTERM and a wait; true if it ended in time by itself.
    pub async fn stop(&mut self, agent: Agent) -> Result<bool> {
        let server = self.process_mut(agent)?.server.take();
        Ok(server.context("the agent does not run")?.stop(STOP_PATIENCE).await)
    }

    /// SIGTERM and a wait; how it ended. An error if it does not end in time.
    pub async fn terminate(&mut self, agent: Agent) -> Result<ExitStatus> {
        let mut server =
            self.process_mut(agent)?.server.take().context("the agent does not run")?;
        server.signal(Signal::TERM);
        let what = format!("{} ends after SIGTERM", server.name().to_owned());
        wait_for(&what, STOP_PATIENCE, async || Ok(server.exited())).await
    }

    /// Freezes a running agent: its connections stay, and it does nothing.
    pub fn freeze(&self, agent: Agent) -> Result<()> {
        self.signal(agent, Signal::STOP)
    }

    /// Lets a frozen agent go on.
    pub fn thaw(&self, agent: Agent) -> Result<()> {
        self.signal(agent, Signal::CONT)
    }

    fn signal(&self, agent: Agent, signal: Signal) -> Result<()> {
        let server = self.process(agent)?.server.as_ref();
        server.context("the agent does not run")?.signal(signal);
        Ok(())
    }

    /// Starts another process of an agent that elects its leader, and waits until it is ready. Dropping it kills it.
    pub async fn start_replica(&self, agent: Agent) -> Result<Server> {
        let mut process = self.process(agent)?.launch.clone();
        let (metrics_port, health_port) = (free_port()?, free_port()?);
        let old = [self.process(agent)?.metrics_port, self.process(agent)?.health_port];
        for argument in &mut process.arguments {
            for (old, new) in old.into_iter().zip([metrics_port, health_port]) {
                let text = argument.to_string_lossy().into_owned();
                if let Some(start) = text.strip_suffix(&format!(":{old}")) {
                    *argument = format!("{start}:{new}").into();
                }
            }
        }
        process.name = format!("{}-replica", process.name);
        process.log = process.log.with_extension("replica.log");
        let server = Some(Server::start(&process, &self.run)?);
        let mut replica = AgentProcess { launch: process, metrics_port, health_port, server };
        replica.wait_ready().await?;
        replica.server.context("it has just started")
    }

    /// Sets a variable of one agent, from its next start on.
    pub fn set_variable(&mut self, agent: Agent, name: &str, value: &str) -> Result<()> {
        let Launch { arguments, environment, .. } = &mut self.process_mut(agent)?.launch;
        arguments.retain(|argument| !argument.to_str().is_some_and(|text| sets(text, name)));
        environment.retain(|(known, _)| known != name);
        environment.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// SIGKILL, a new start, and a wait until it is ready.
    pub async fn restart(&mut self, agent: Agent) -> Result<()> {
        self.process_mut(agent)?.server = None;
        self.launch(agent)?;
        self.wait_ready_of(agent).await
    }

    /// Ends one agent, starts that of another folder in its place, and waits until it is ready.
    pub async fn replace(&mut self, agent: Agent, programs: &Path) -> Result<()> {
        ensure!(self.stop(agent).await?, "{agent:?} had to be killed");
        self.process_mut(agent)?.launch.program = program_in(programs, agent.program())?;
        self.launch(agent)?;
        self.wait_ready_of(agent).await
    }

    /// [`Self::restart`] with further arguments, which hold until the next start.
    pub async fn restart_with(&mut self, agent: Agent, arguments: &[&str]) -> Result<()> {
        let run = Arc::clone(&self.run);
        let process = self.process_mut(agent)?;
        process.server = None;
        let mut launch = process.launch.clone();
        // What a chart has set is not set twice.
        let again =
            |old: &OsString| arguments.iter().any(|new| old.to_str().and_then(flag) == flag(new));
        launch.arguments.retain(|old| !again(old));
        launch.arguments.extend(arguments.iter().map(Into::into));
        process.server = Some(Server::start(&launch, &run)?);
        self.wait_ready_of(agent).await
    }

    /// Waits until every running agent answers `/readyz` with 200.
    pub async fn wait_ready(&mut self) -> Result<()> {
        let running = self.processes.values_mut().filter(|process| process.server.is_some());
        try_join_all(running.map(AgentProcess::wait_ready)).await?;
        Ok(())
    }

    /// Waits until one agent answers `/readyz` with 200.
    pub async fn wait_ready_of(&mut self, agent: Agent) -> Result<()> {
        self.process_mut(agent)?.wait_ready().await
    }

    /// An error with the end of its log if an agent that should run has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        let mut running = self.processes.values_mut().filter_map(|process| process.server.as_mut());
        running.try_for_each(Server::check_alive)
    }

    /// The agent's `/metrics`, in the text format.
    pub async fn metrics(&self, agent: Agent) -> Result<String> {
        let port = self.process(agent)?.metrics_port;
        let (status, text) = plain_http::get(&format!("http://127.0.0.1:{port}/metrics")).await?;
        if status != 200 {
            bail!("/metrics answered {status}");
        }
        Ok(text)
    }

    /// What the agent's `/readyz` answers: the status, and what is waited for.
    pub async fn readiness(&self, agent: Agent) -> Result<(u16, String)> {
        let port = self.process(agent)?.health_port;
        plain_http::get(&format!("http://127.0.0.1:{port}/readyz")).await
    }

    /// Port of `/metrics`.
    pub fn metrics_port(&self, agent: Agent) -> Result<u16> {
        Ok(self.process(agent)?.metrics_port)
    }

    /// Process id of a running agent.
    pub fn pid(&self, agent: Agent) -> Option<u32> {
        self.processes.get(&agent)?.server.as_ref().map(Server::pid)
    }

    /// The agent's program, for a run of its own.
    pub fn program(&self, agent: Agent) -> Result<&Path> {
        Ok(&self.process(agent)?.launch.program)
    }

    /// The agent's log file; restarts append to it.
    pub fn log(&self, agent: Agent) -> Result<&Path> {
        Ok(&self.process(agent)?.launch.log)
    }

    /// CPU time and peak memory of a running agent since its start.
    pub fn usage(&self, agent: Agent) -> Result<Usage> {
        Usage::of(self.pid(agent).context("the agent does not run")?)
    }

    fn process(&self, agent: Agent) -> Result<&AgentProcess> {
        self.processes.get(&agent).context("the fleet has no such agent")
    }

    fn process_mut(&mut self, agent: Agent) -> Result<&mut AgentProcess> {
        self.processes.get_mut(&agent).context("the fleet has no such agent")
    }
}

impl AgentProcess {
    async fn wait_ready(&mut self) -> Result<()> {
        let url = format!("http://127.0.0.1:{}/readyz", self.health_port);
        let name = self.launch.name.clone();
        let server = self.server.as_mut().with_context(|| format!("{name} does not run"))?;
        let ready = wait_until(&format!("{name} is ready"), READY_DEADLINE, async || {
            // An agent that ended will not become ready: fail at once.
            if server.exited().is_some() {
                return Ok(true);
            }
            Ok(plain_http::get(&url).await?.0 == 200)
        })
        .await;
        server.check_alive()?;
        ready.with_context(|| format!("{name}; its last lines:\n{}", server.log_tail(15)))
    }
}

/// What a process has used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// User and system time.
    pub cpu: Duration,
    /// Memory that is resident now, in bytes.
    pub rss_bytes: u64,
    /// The most memory it ever had resident, in bytes.
    pub peak_rss_bytes: u64,
}

impl Usage {
    /// Reads `/proc`.
    pub fn of(pid: u32) -> Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        Self::parse(&stat, &status).context("/proc has an unknown format")
    }

    fn parse(stat: &str, status: &str) -> Option<Self> {
        // Fields 14 and 15, in ticks of 10 ms on every Linux; the name before them may hold spaces.
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u64>().ok();
        let cpu = Duration::from_millis((ticks()? + ticks()?) * 10);
        let memory = |name| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kibibytes * 1024)
        };
        Some(Self { cpu, rss_bytes: memory("VmRSS:")?, peak_rss_bytes: memory("VmHWM:")? })
    }
}

/// The flag of an argument: `leader-elect` of `--leader-elect=true`.
fn flag(argument: &str) -> Option<&str> {
    argument.strip_prefix("--").and_then(|flag| flag.split('=').next())
}

/// Whether an argument sets what this variable is for: `--leader-elect=true` and `LEADER_ELECT`.
fn sets(argument: &str, variable: &str) -> bool {
    flag(argument).is_some_and(|flag| flag.to_uppercase().replace('-', "_") == variable)
}

/// Nothing lingers: a test that watches or counts needs the end now. Options may override it.
fn at_once() -> impl Iterator<Item = (String, String)> {
    std::iter::once((GRACE_PERIOD.to_owned(), "0s".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_known_by_their_variables() {
        for argument in ["--leader-elect", "--leader-elect=true"] {
            assert!(sets(argument, "LEADER_ELECT"), "{argument}");
        }
        for argument in ["--leader-election-namespace=x", "leader-elect", "--"] {
            assert!(!sets(argument, "LEADER_ELECT"), "{argument}");
        }
    }

    #[test]
    fn usage_is_read_from_proc() {
        let stat = "9 (an (odd) name) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        let status = "Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t 1 kB\n";
        let usage = Usage::parse(stat, status).unwrap();
        assert_eq!(usage.cpu, Duration::from_secs(2));
        assert_eq!(usage.peak_rss_bytes, 2 * 1024 * 1024);
        assert!(Usage::of(std::process::id()).unwrap().peak_rss_bytes > 0);
    }
}
