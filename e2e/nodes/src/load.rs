//! Clients of Services on a node, as Pods are: in a namespace of their own, with addresses of Pods.

mod moment;
mod program;
mod tally;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fleet_load::report::Window;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::process::find_in_path;
use fleet_testbed::wait::wait_for;

pub use moment::Moment;
pub use program::Program;
pub use tally::Tally;

use crate::node::Node;
use crate::sandbox::Inside;
use crate::synced::Synced;

/// Name of the namespace, and of the node's end of its link.
const NAMESPACE: &str = "load";
/// Of the namespace, as the node knows it.
const PATH: &str = "/run/netns/load";
/// What clients take for their router.
const ROUTER: &str = "169.254.77.1";
/// Last parts of the clients' addresses: Pods get the first ones of the range.
const SOURCES: [u8; 8] = [240, 241, 242, 243, 244, 245, 246, 247];
const DEADLINE: Duration = Duration::from_mins(1);
/// Connections that were under way have ended by then.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// Clients on one node.
#[derive(Debug)]
pub struct Clients<'a> {
    node: &'a Node,
    program: Program,
    sources: Vec<Ipv4Addr>,
    synced: Synced<'a>,
}

/// A client that calls. Dropping it kills it.
#[derive(Debug)]
pub struct Calling {
    what: String,
    _client: Inside,
    until: PathBuf,
    log: PathBuf,
}

impl<'a> Clients<'a> {
    /// Gives clients their addresses.
    pub async fn on(cluster: &'a Cluster, node: &'a Node, program: &Program) -> Result<Self> {
        let sources = sources(&node.addresses().pods)?;
        node.sandbox().run("sh", &["-c", &script(&sources)]).await.context("connect clients")?;
        let synced = Synced::of(cluster, node).await?;
        Ok(Self { node, program: program.clone(), sources, synced })
    }

    /// Begins to call a Service at a rate: that often, or until [`Calling::end`] if 0.
    pub fn call(
        &self,
        name: &str,
        target: IpAddr,
        port: u16,
        rate: u32,
        count: u64,
    ) -> Result<Calling> {
        self.call_from(&self.sources, name, (target, port), [rate.into(), count])
    }

    /// Begins to call as several clients, each from an address of its own and at this rate.
    pub fn call_apart(
        &self,
        name: &str,
        target: IpAddr,
        port: u16,
        rate: u32,
    ) -> Result<Vec<Calling>> {
        let sources = self.sources.chunks(1).enumerate();
        let calls = sources.map(|(number, source)| {
            self.call_from(source, &format!("{name}-{number}"), (target, port), [rate.into(), 0])
        });
        calls.collect()
    }

    fn call_from(
        &self,
        sources: &[Ipv4Addr],
        name: &str,
        (target, port): (IpAddr, u16),
        numbers: [u64; 2],
    ) -> Result<Calling> {
        self.start(name, |until| {
            let words = ["call".to_owned(), format!("{target}:{port}")].into_iter();
            let words = words.chain(numbers.map(|number| number.to_string())).chain([until]);
            words.chain(sources.iter().map(ToString::to_string)).collect()
        })
    }

    /// Opens one connection that stays.
    pub fn stream(&self, name: &str, target: IpAddr, port: u16) -> Result<Calling> {
        self.start(name, |until| vec!["stream".to_owned(), format!("{target}:{port}"), until])
    }

    /// Sends datagrams from one port.
    pub fn flow(&self, name: &str, target: IpAddr, port: u16) -> Result<Calling> {
        self.start(name, |until| vec!["flow".to_owned(), format!("{target}:{port}"), until])
    }

    fn start(&self, name: &str, words: impl FnOnce(String) -> Vec<String>) -> Result<Calling> {
        let name = format!("load-{name}");
        let (until, log) =
            (self.node.path(&format!("{name}.end")), self.node.path(&format!("{name}.log")));
        for path in [&until, &log] {
            if path.exists() {
                fs::remove_file(path)?;
            }
        }
        let nsenter = find_in_path("nsenter").context("nsenter is not on PATH")?;
        let enter =
            [format!("--net={PATH}"), "--".to_owned(), self.program.path().display().to_string()];
        let words = enter.into_iter().chain(words(until.display().to_string())).collect();
        let client = self.node.start_program(&name, nsenter, words)?;
        Ok(Calling { what: name, _client: client, until, log })
    }

    /// Makes servers ready or unready; probes notice it later.
    pub async fn set_ready(&self, ready: bool, servers: &[IpAddr]) -> Result<()> {
        let (net, program) = (format!("--net={PATH}"), self.program.path().display().to_string());
        let servers: Vec<_> = servers.iter().map(ToString::to_string).collect();
        let mut words = vec![&*net, "--", &*program, if ready { "ready" } else { "unready" }];
        words.extend(servers.iter().map(String::as_str));
        self.node.sandbox().run("nsenter", &words).await.map(drop)
    }

    /// Waits until kube-proxy of the node has programmed what the API server has now. Calls that end from the returned moment on
    /// began after that.
    pub async fn wait_synced(&self) -> Result<Moment> {
        self.synced.wait().await?;
        Ok(Moment::now().after(UNDER_WAY))
    }
}

impl Calling {
    /// What became of the calls so far.
    pub fn so_far(&self) -> Result<Tally> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let windows = Window::parse(&text);
        if windows.is_empty() && !text.is_empty() {
            bail!("{}: {text}", self.what);
        }
        Ok(Tally::new(windows))
    }

    /// Waits until so many calls have ended after a moment; what became of those.
    pub async fn next(&self, count: u64, since: Moment) -> Result<Tally> {
        wait_for(&format!("{count} calls of {}", self.what), DEADLINE * 2, async || {
            let tally = self.so_far()?.since(since);
            Ok((tally.all() >= count).then_some(tally))
        })
        .await
    }

    /// Ends the calls; what became of all of them.
    pub async fn end(self) -> Result<Tally> {
        fs::write(&self.until, "")?;
        self.ended().await
    }

    /// Waits for the end; what became of all calls.
    pub async fn ended(&self) -> Result<Tally> {
        wait_for(&format!("the end of {}", self.what), DEADLINE, async || {
            let tally = self.so_far()?;
            Ok(tally.has_ended().then_some(tally))
        })
        .await
    }
}

fn sources(pods: &str) -> Result<Vec<Ipv4Addr>> {
    let range = pods.split('/').next().unwrap_or_default();
    let range: Ipv4Addr = range.parse().context("a range of Pods")?;
    let [a, b, c, _] = range.octets();
    Ok(SOURCES.iter().map(|last| Ipv4Addr::new(a, b, c, *last)).collect())
}

/// A routed link, as Pods have: a bridge would hide packets from kube-proxy's rules.
fn script(sources: &[Ipv4Addr]) -> String {
    let addresses = sources.iter().map(|source| {
        format!(
            "ip -n {NAMESPACE} address add {source}/32 dev eth0\nip route add {source}/32 dev {NAMESPACE}"
        )
    });
    let addresses = addresses.collect::<Vec<_>>().join("\n");
    format!(
        "set -e
ip netns add {NAMESPACE}
ip link add {NAMESPACE} type veth peer name eth0 netns {NAMESPACE}
ip address add {ROUTER}/32 dev {NAMESPACE}
ip link set {NAMESPACE} up
ip -n {NAMESPACE} link set lo up
ip -n {NAMESPACE} link set eth0 up
{addresses}
ip -n {NAMESPACE} route add {ROUTER}/32 dev eth0 scope link
ip -n {NAMESPACE} route add default via {ROUTER} src {first}",
        first = sources[0],
    )
}
