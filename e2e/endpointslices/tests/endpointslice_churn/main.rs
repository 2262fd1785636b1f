//! The same random churn of pods, nodes and Services in two clusters: in one kube-controller-manager makes the
//! EndpointSlices, in the other the member agent does. At every quiet point both show the same.
//!
//! `FLEET_CHURN_STEPS` sets how long it goes on, `FLEET_SEED` where the chance begins.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod change;
mod outlook;
mod tally;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_for;
use fleet_testbed::{Options, Testbed, rbac};
use futures::future::try_join;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use change::{Change, NAMESPACE, apply_all};
use fleet_testbed::random::{Random, SEED};
use outlook::Outlook;
use tally::Tally;
use world::World;

/// Variable with the number of steps.
const STEPS: &str = "FLEET_CHURN_STEPS";
/// So many fit into the time that all tests may take.
const USUAL_STEPS: usize = 300;
/// Where they begin, so that all run the same ones. A run with more steps uses a new seed each time.
const USUAL_SEED: u64 = 5_501_492_001_910_274_170;
/// So many that the numbers of writes can be compared.
const MANY: usize = 1000;
/// Most steps between two quiet points.
const BURST: usize = 50;
/// Small, so that a few pods make many slices.
const LIMIT: usize = 7;
/// How long the original may take after each look at a Service: it looks at what it has written itself after a second.
const QUIET: Duration = Duration::from_secs(3);
/// How often it is made to look.
const LOOKS: usize = 30;
/// The original's cluster, and ours.
const ORIGINAL: usize = 0;
const OURS: usize = 1;

#[tokio::test(flavor = "multi_thread")]
async fn both_controllers_come_to_the_same() {
    let dual_stack = "--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112".to_owned();
    let options =
        Options { controllers: &[], apiserver_arguments: vec![dual_stack], ..Options::members(2) };
    let testbed = Testbed::start(options).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

async fn story(testbed: &Testbed) -> Result<()> {
    let steps = std::env::var(STEPS).ok().and_then(|text| text.parse().ok());
    let (random, seed) = match steps {
        Some(_) => Random::from_env(),
        None => Random::from_env_or(USUAL_SEED),
    };
    let steps: usize = steps.unwrap_or(USUAL_STEPS);
    say(&format!("{SEED}={seed} {STEPS}={steps}"))?;
    let mut churn = Churn::start(testbed, World::new(random)).await?;
    let begin = churn.world.begin();
    churn.apply(&begin).await?;
    churn.quiet().await.context("at the beginning")?;

    let mut done = 0;
    while done < steps {
        let burst = (1 + churn.world.below(BURST)).min(steps - done);
        let changes: Vec<_> = (0..burst).flat_map(|_| churn.world.step()).collect();
        let (before, after) = changes.split_at(churn.world.below(changes.len() + 1));
        churn.apply(before).await?;
        if churn.world.below(4) == 0 {
            churn.restart().await?;
        }
        churn.apply(after).await?;
        done += burst;
        churn.quiet().await.with_context(|| format!("after {done} steps"))?;
        churn.check_alive()?;
    }
    say(&churn.report(done)?)
}

/// Both clusters, and who works there.
struct Churn<'a> {
    testbed: &'a Testbed,
    world: World,
    agents: Agents,
    original: Tally,
    ours: Tally,
    restarts: usize,
}

impl<'a> Churn<'a> {
    async fn start(testbed: &'a Testbed, world: World) -> Result<Self> {
        testbed.user_namespace(NAMESPACE).await?;
        let [original, ours] = [ORIGINAL, OURS].map(|at| testbed.member(at));
        rbac::endpointslices().apply(&ours.client()).await?;
        wait_for_default_accounts(testbed).await?;
        let limit = format!("--max-endpoints-per-slice={LIMIT}");
        let plane = original.control_plane().context("the testbed runs its control planes")?;
        let pid = plane.start_slice_controller(&[limit]).await?;
        let variables = [
            ("ENDPOINTSLICES", "all".to_owned()),
            ("ENABLE_NETWORKING_FEATURES", "false".to_owned()),
            ("MAX_ENDPOINTS_PER_SLICE", LIMIT.to_string()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let of_agents = BTreeMap::from([(Agent::Member(OURS), variables)]);
        let options = AgentOptions { of_agents, ..AgentOptions::default() };
        let mut agents = Agents::prepare(testbed, &options)?;
        agents.launch(Agent::Member(OURS))?;
        agents.wait_ready_of(Agent::Member(OURS)).await?;
        let (original, mut ours) = (Tally::of(original, pid)?, Tally::of(ours, 0)?);
        ours.follow(agents.pid(Agent::Member(OURS)).context("it runs")?);
        Ok(Self { testbed, world, agents, original, ours, restarts: 0 })
    }

    fn both(&self) -> [&'a Cluster; 2] {
        [self.testbed.member(ORIGINAL), self.testbed.member(OURS)]
    }

    async fn apply(&self, changes: &[Change]) -> Result<()> {
        let [original, ours] = self.both();
        try_join(apply_all(original, changes), apply_all(ours, changes)).await?;
        Ok(())
    }

    /// SIGKILL, and a new start.
    async fn restart(&mut self) -> Result<()> {
        self.restarts += 1;
        self.ours.settle()?;
        self.agents.kill(Agent::Member(OURS))?;
        self.agents.launch(Agent::Member(OURS))?;
        self.ours.follow(self.agents.pid(Agent::Member(OURS)).context("it runs")?);
        self.agents.wait_ready_of(Agent::Member(OURS)).await
    }

    fn check_alive(&mut self) -> Result<()> {
        self.agents.check_alive()
    }

    /// Waits until both clusters show the same and nothing changes any more, and checks what is not waited for.
    ///
    /// Ours comes there by itself. The original may have to look again: it watches neither nodes nor a pod's end,
    /// and a Service with a pod of an unknown node waits for minutes if it fails for another reason meanwhile.
    async fn quiet(&mut self) -> Result<()> {
        let [original, ours] = self.both();
        let mut touches = Vec::new();
        let mut look = self.world.nodes_changed();
        let (theirs, own) = loop {
            if std::mem::replace(&mut look, true) {
                touches.push(self.world.touch());
                apply_all(original, &touches[touches.len() - 1]).await?;
            }
            match self.same().await {
                Err(error) if touches.len() >= LOOKS => return Err(error),
                Err(_) => {}
                Ok(same) => break same,
            }
        };
        outlook::ensure_packed(original.name(), &theirs, LIMIT)?;
        outlook::ensure_packed(ours.name(), &own, LIMIT)?;
        // Nothing to do, but as much to look at.
        apply_all(ours, &touches.concat()).await
    }

    /// The slices of both, once they come to the same.
    async fn same(&self) -> Result<(Vec<EndpointSlice>, Vec<EndpointSlice>)> {
        let [original, ours] = self.both();
        let names: BTreeSet<_> = self.world.services().map(str::to_owned).collect();
        let mut last: Option<(Outlook, Outlook)> = None;
        let same = wait_for("both controllers come to the same", QUIET, async || {
            let balanced = outlook::balanced(original).await?;
            let (theirs, own) = try_join(outlook::slices(original), outlook::slices(ours)).await?;
            let now = (Outlook::of(&theirs, &balanced)?, Outlook::of(&own, &balanced)?);
            let complete = now.0.covers(&names) && now.1.covers(&names);
            let still = complete && now.0.agrees(&now.1) && last.as_ref() == Some(&now);
            last = Some(now);
            Ok(still.then_some((theirs, own)))
        })
        .await;
        same.with_context(|| last.map(|(theirs, own)| theirs.differences(&own)).unwrap_or_default())
    }

    fn report(&mut self, steps: usize) -> Result<String> {
        self.original.settle()?;
        self.ours.settle()?;
        let [theirs, own] = [self.original.writes()?, self.ours.writes()?];
        ensure!(theirs > 0 && own > 0, "somebody wrote nothing: {theirs} {own}");
        // Over few steps chance has too much influence.
        ensure!(steps < MANY || own <= theirs, "{own} writes, and {theirs} of the original");
        let [original, ours] = [&self.original, &self.ours];
        let seconds = |tally: &Tally| format!("{:.2}", tally.cpu().as_secs_f64());
        let mib = |tally: &Tally| (tally.peak_rss() / 1024 / 1024).to_string();
        let rows = [
            ("writes of slices", theirs.to_string(), own.to_string()),
            ("CPU, s", seconds(original), seconds(ours)),
            ("peak RSS, MiB", mib(original), mib(ours)),
        ];
        let rows = rows.map(|(what, theirs, own)| format!("| {what} | {theirs} | {own} |"));
        let (restarts, rows) = (self.restarts, rows.join("\n"));
        let head = "| | kube-controller-manager | member-agent |\n|---|---|---|";
        Ok(format!("{steps} steps, {restarts} restarts of member-agent\n\n{head}\n{rows}"))
    }
}

/// Also to those who do not ask for the output of tests that succeed.
fn say(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Pods are refused without.
async fn wait_for_default_accounts(testbed: &Testbed) -> Result<()> {
    for member in testbed.members() {
        fleet_testbed::workload::wait_for_default_account(&member.client(), NAMESPACE).await?;
    }
    Ok(())
}
