//! What `fleetctl what-if` foresees for random actions on real servers is what then happens there.

mod acting;
mod action;
mod moment;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::exchange::{export, import};
use fleet_testbed::random::Random;
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed, traffic};
use serde_json::{Value, json};

use crate::DEADLINE;
use crate::tool::Tool;
use acting::act;
use action::Action;
use moment::{Change, Moment};

const SHOP: &str = "shop";
const SERVICES: [&str; 2] = ["api", "web"];
const MEMBERS: usize = 3;
/// Where the random numbers begin.
const SEED: u64 = 19;
/// Time in which a silent member is found, its guards included, and endpoints are where they belong.
const PATIENCE: Duration = Duration::from_mins(5);
/// The end of an export that is not there.
const NO_EXPORT: &str = "is not exported by";
/// A drain of what a member does not export.
const NO_ENDPOINT: &str = "has no ready endpoint of";
/// A file that is replaced each time.
const FILE: &str = "policy.json";

/// A fleet in which random members export and import.
struct Shop<'a> {
    testbed: &'a Testbed,
    agents: Agents,
    tool: Tool,
    random: Random,
    /// Exports that are there at times: member and Service.
    exports: BTreeSet<(usize, &'static str)>,
}

/// How many actions are tried, if not as many as usual.
const ACTIONS: &str = "FLEET_WHAT_IF_ACTIONS";

/// As many as the environment has.
pub(crate) fn actions(usual: usize) -> usize {
    let number = std::env::var(ACTIONS).ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// Compares so many actions, and the loss of a member at the end.
pub(crate) async fn story(actions: usize, loses: bool) -> Result<()> {
    let testbed = Testbed::start(Options::members(MEMBERS).without_audit()).await?;
    let result = Box::pin(compare_all(&testbed, actions, loses)).await;
    testbed.explain(result).await
}

async fn compare_all(testbed: &Testbed, actions: usize, loses: bool) -> Result<()> {
    let mut shop = Shop::open(testbed).await?;
    let (mut done, mut written) = (0, 0);
    while done < actions {
        shop.restore().await?;
        let action = Action::any(&mut shop.random);
        let Some(changes) = shop.compare(&action).await? else { continue };
        done += 1;
        written += changes;
    }
    shop.agents.check_alive()?;
    if loses {
        let lost = shop.random.below(MEMBERS);
        let changes = shop.compare(&Action::Lose(lost)).await?;
        written += changes.context("a member can be lost")?;
        done += 1;
    }
    println!("{done} actions, {written} changes of objects, all foreseen");
    ensure!(written > 0, "nothing has changed");
    Ok(())
}

impl<'a> Shop<'a> {
    async fn open(testbed: &'a Testbed) -> Result<Self> {
        let (random, seed) = Random::from_env_or(SEED);
        println!("FLEET_SEED={seed}");
        testbed.user_namespace(SHOP).await?;
        // The shortest silence, so that a loss takes less than a minute.
        traffic::prepare(testbed, &json!({ "silentAfterSeconds": 30 })).await?;
        for member in testbed.members() {
            let labels = json!({ "topology.kubernetes.io/zone": "z1" });
            let node = json!({
                "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1", "labels": labels },
            });
            apply(&member.client(), node).await?;
        }
        let agents = Agents::start(testbed, &traffic::options()).await?;
        let tool = Tool::of(testbed, agents.program(Agent::Hub)?, &Self::names(testbed))?;
        let mut shop = Self { testbed, agents, tool, random, exports: BTreeSet::new() };
        shop.fill().await?;
        Ok(shop)
    }

    fn names(testbed: &Testbed) -> Vec<(&fleet_testbed::cluster::Cluster, &str)> {
        let members = testbed.members().iter().map(|member| (member, member.name()));
        [(testbed.hub(), "hub")].into_iter().chain(members).collect()
    }

    /// Each Service has two exporters at least, and an importer.
    async fn fill(&mut self) -> Result<()> {
        for service in SERVICES {
            let (without, with) = (self.random.below(MEMBERS + 1), self.random.below(MEMBERS));
            for (at, member) in self.testbed.members().iter().enumerate() {
                if at != without {
                    let count = 1 + self.random.below(3);
                    let addresses: Vec<_> = (0..count).map(|_| next_address()).collect();
                    let spec = ServiceSpec::http(SHOP, service);
                    ManualService::deploy(member, &spec, &addresses).await?;
                    export(member, SHOP, service).await?;
                    self.exports.insert((at, service));
                }
                if at == with || self.random.below(2) == 0 {
                    import(member, SHOP, service, service).await?;
                }
            }
        }
        for member in self.testbed.members() {
            let name = member.name();
            wait_until(&format!("the hub knows what {name} exports"), DEADLINE, async || {
                let decided = traffic::decided(self.testbed.hub(), name).await?;
                Ok(decided["complete"].as_str().is_some_and(|complete| !complete.is_empty()))
            })
            .await?;
        }
        Ok(())
    }

    /// Exports again, now and then, what is not exported any more. That is no action that is asked about.
    async fn restore(&mut self) -> Result<()> {
        if self.random.below(3) > 0 {
            return Ok(());
        }
        for (member, service) in self.exports.clone() {
            let member = self.testbed.member(member);
            let there =
                fleet_testbed::objects::find(member, kinds::SERVICE_EXPORT, (SHOP, service))
                    .await?;
            if there.is_none() {
                export(member, SHOP, service).await?;
            }
        }
        Ok(())
    }

    /// Waits until no agent has anything to write, nothing is written, and no drain goes on.
    async fn rest(&self) -> Result<Moment> {
        wait_for("the fleet is at rest", DEADLINE, async || {
            let [before, after] = self.moments().await?;
            let missing = self.tool.run(&["diff"]).await?;
            let is_done = missing.code == Some(0) && missing.out.is_empty();
            ensure!(is_done, "{missing:?}");
            let changes = before.changes_to(&after);
            ensure!(changes.is_empty(), "{changes:?}");
            // The next step waits for Leases, which are renewed every ten seconds.
            let under_way = after.drains_under_way();
            ensure!(under_way.is_empty(), "{under_way:?}");
            Ok(Some(after))
        })
        .await
    }

    /// The fleet twice, two seconds apart.
    async fn moments(&self) -> Result<[Moment; 2]> {
        let path = self.tool.folder().join("moments");
        std::fs::remove_file(&path).ok();
        let file = path.display().to_string();
        let arguments = ["record", &file, "--frames", "2", "--every", "2"];
        self.tool.run(&arguments).await?.succeeds()?;
        let recording = fleetctl::recorded::load(&path)?;
        Ok([0, 1].map(|frame| Moment::of(&recording.at(frame))))
    }

    /// Foresees an action, does it, and waits for exactly that. Returns how many objects it changes; `None` if it cannot be done.
    async fn compare(&mut self, action: &Action) -> Result<Option<usize>> {
        let before = self.rest().await?;
        let Some(answer) = self.foreseen(action).await? else { return Ok(None) };
        let wanted: BTreeSet<Change> = serde_json::from_value(answer["changes"].clone())?;
        println!("{action}: {} changes", wanted.len());
        act(self.testbed, &mut self.agents, action).await?;
        let what = format!("{action} leads to {wanted:#?}");
        wait_for(&what, PATIENCE, async || {
            // Not for a moment alone.
            for after in self.moments().await? {
                let changes = before.changes_to(&after);
                let missing: Vec<_> = wanted.difference(&changes).collect();
                let surplus: Vec<_> = changes.difference(&wanted).collect();
                ensure!(
                    missing.is_empty() && surplus.is_empty(),
                    "missing: {missing:?}; surplus: {:#?}",
                    surplus.iter().map(|it| before.contents(it, &after)).collect::<Vec<_>>()
                );
                after.has_traffic(&answer["traffic"])?;
            }
            Ok(Some(()))
        })
        .await?;
        Ok(Some(wanted.len()))
    }

    /// What is foreseen; `None` if the action cannot be done, or is refused.
    async fn foreseen(&self, action: &Action) -> Result<Option<Value>> {
        let path = self.tool.folder().join(FILE);
        if let Some(document) = action.document() {
            std::fs::write(&path, document.to_string())?;
        }
        let arguments = action.arguments(&path.display().to_string());
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let command = [&["what-if", "-o", "json"][..], &arguments].concat();
        let printed = self.tool.run(&command).await?;
        if printed.code == Some(2) {
            if !matches!(action, Action::Drain { .. }) {
                printed.tells(&[NO_EXPORT])?;
                return Ok(None);
            }
            printed.tells(&[NO_ENDPOINT])?;
            self.is_refused(&arguments, 2, NO_ENDPOINT).await?;
            return Ok(None);
        }
        let answer = printed.json()?;
        if let Some(sentence) = answer["refused"].as_str() {
            printed.exits(1)?;
            self.is_refused(&arguments, 1, sentence).await?;
            return Ok(None);
        }
        Ok(Some(answer))
    }

    /// The command itself refuses what `what-if` has refused, in the same words and with the same exit code.
    async fn is_refused(&self, arguments: &[&str], code: i32, words: &str) -> Result<()> {
        self.tool.run(arguments).await?.exits(code)?.tells(&[words])
    }
}
