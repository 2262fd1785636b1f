//! "Export, import, change, unexport", played again and again under other names: what each act comes to when nothing
//! disturbs it, and which writes that takes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_oracle::mirror::Normal;
use fleet_testbed::exchange::{export, import, unexport, wait_condition, wait_gone, wait_imported};
use fleet_testbed::fault_proxy::{Entry, Link, Verb};
use fleet_testbed::workload::{ManualService, ServiceSpec};
use futures::{StreamExt, TryStreamExt};

use crate::disturbed::Disturbed;
use crate::stage::{DEADLINE, Stage};

/// Longer than the half second after which "waiting" is written.
pub(crate) const QUIET: Duration = Duration::from_millis(700);
/// What is written in each of so many undisturbed runs is written in every run.
const CALM_RUNS: usize = 3;

/// Users at the same time.
const IN_FLIGHT: usize = 8;

const BEFORE: [&str; 1] = ["192.0.2.1"];
const AFTER: [&str; 2] = ["192.0.2.2", "192.0.2.3"];

/// One step of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    Export,
    Import,
    Change,
    Unexport,
}

pub(crate) const ACTS: [Act; 4] = [Act::Export, Act::Import, Act::Change, Act::Unexport];

/// Which write of the story: the first, second, ... of its kind in an act.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub(crate) act: Act,
    pub(crate) link: Link,
    pub(crate) verb: Verb,
    pub(crate) resource: String,
    /// From 0.
    pub(crate) nth: usize,
}

impl Write {
    /// Whether only an act that lasts has it: a status reports what has waited for half a second, and on a slow machine the
    /// undisturbed runs all wait that long.
    fn is_progress(&self) -> bool {
        self.nth > 0 && self.resource.ends_with("/status")
    }
}

impl std::fmt::Display for Write {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { act, link, verb, resource, nth } = self;
        write!(f, "{act:?}, {link}: {verb} {resource} #{nth}")
    }
}

/// The story as it goes when nothing disturbs it.
pub(crate) struct Story {
    pub(crate) namespace: String,
    told: usize,
    /// What each act comes to.
    outcomes: Vec<Normal>,
    /// What every run writes, in the order of an undisturbed one.
    pub(crate) writes: Vec<Write>,
    /// How many objects of a kind are made on which link.
    made: BTreeMap<(Link, String), usize>,
}

impl Story {
    /// Learns it from undisturbed runs.
    pub(crate) async fn learn(fleet: &mut Disturbed<'_>, what: &str) -> Result<Self> {
        let namespace = fleet.stage.namespace(what).await?;
        let mut story = Self {
            namespace,
            told: 0,
            outcomes: Vec::new(),
            writes: Vec::new(),
            made: BTreeMap::new(),
        };
        for run in 0..CALM_RUNS {
            let name = story.name();
            let (outcomes, writes) =
                story.undisturbed_run(fleet, &name).await.context("an undisturbed run")?;
            if run == 0 {
                let made = made(&fleet.links.work(&name));
                (story.outcomes, story.writes, story.made) = (outcomes, writes, made);
                continue;
            }
            for (known, new) in story.outcomes.iter().zip(&outcomes) {
                let difference = fleet_oracle::mirror::difference(known, new);
                ensure!(known == new, "two undisturbed runs differ:\n{difference}");
            }
            let also: BTreeSet<Write> = writes.into_iter().collect();
            story.writes.retain(|write| also.contains(write));
        }
        story.writes.retain(|write| !write.is_progress());
        Ok(story)
    }

    /// A name that nothing else has, for another run.
    pub(crate) fn name(&mut self) -> String {
        self.told += 1;
        format!("story-{:04}z", self.told)
    }

    /// What each act comes to, and all writes.
    async fn undisturbed_run(
        &self,
        fleet: &mut Disturbed<'_>,
        name: &str,
    ) -> Result<(Vec<Normal>, Vec<Write>)> {
        let (mut outcomes, mut writes) = (Vec::new(), Vec::new());
        for act in ACTS {
            self.perform(fleet.stage, name, act).await?;
            self.seen(fleet.stage, name, act).await?;
            fleet.quiet(QUIET).await?;
            fleet.mirror.catch_up();
            outcomes.push(fleet.mirror.normal(name));
            let entries = fleet.links.work(name);
            writes.extend(numbered(act, &entries[writes.len()..]));
        }
        Ok((outcomes, writes))
    }

    /// Does what a user does, and does not wait for the effect.
    pub(crate) async fn perform(&self, stage: &Stage, name: &str, act: Act) -> Result<()> {
        let (exporter, namespace) = (stage.exporter(), self.namespace.as_str());
        let spec = ServiceSpec::http(namespace, name);
        match act {
            Act::Export => {
                ManualService::deploy(exporter, &spec, &BEFORE.map(str::to_owned)).await?;
                export(exporter, namespace, name).await
            }
            Act::Import => import(stage.importer(), namespace, name, name).await,
            Act::Change => {
                let service = ManualService::existing(exporter, &spec);
                service.set_addresses(&AFTER.map(str::to_owned)).await
            }
            Act::Unexport => unexport(exporter, namespace, name).await,
        }
    }

    /// [`Self::perform`] of many, a few at a time.
    pub(crate) async fn perform_all(
        &self,
        stage: &Stage,
        names: &[String],
        act: Act,
    ) -> Result<()> {
        let all = futures::stream::iter(names).map(|name| self.perform(stage, name, act));
        all.buffer_unordered(IN_FLIGHT).try_collect().await
    }

    /// Waits until users see the effect.
    async fn seen(&self, stage: &Stage, name: &str, act: Act) -> Result<()> {
        let (namespace, key) = (self.namespace.as_str(), (self.namespace.as_str(), name));
        let (exporter, importer) = (stage.exporter(), stage.importer());
        let serves = async |addresses: &[&str]| {
            let addresses = addresses.iter().map(|&address| address.to_owned()).collect();
            wait_imported(importer, namespace, name, &addresses, DEADLINE).await
        };
        match act {
            Act::Export => {
                let kind = kinds::SERVICE_EXPORT;
                wait_condition(exporter, kind, key, ("Conflict", "False"), DEADLINE).await
            }
            Act::Import => {
                serves(&BEFORE).await?;
                let kind = kinds::MULTI_CLUSTER_SERVICE;
                wait_condition(importer, kind, key, ("Valid", "True"), DEADLINE).await
            }
            Act::Change => serves(&AFTER).await,
            Act::Unexport => {
                let kind = kinds::SERVICE_EXPORT;
                wait_gone(exporter, kind, namespace, name, DEADLINE).await?;
                serves(&[]).await
            }
        }
    }

    /// Waits until all of these have come to what the act comes to.
    pub(crate) async fn comes_out(
        &self,
        fleet: &mut Disturbed<'_>,
        names: &[String],
        act: Act,
        deadline: Duration,
    ) -> Result<()> {
        let wanted = &self.outcomes[ACTS.iter().position(|one| *one == act).context("an act")?];
        let result = fleet.mirror.until(names, wanted, deadline).await;
        result.with_context(|| format!("{act:?}"))
    }

    /// An error if more objects of a kind were made than in an undisturbed run.
    pub(crate) fn made_once(&self, fleet: &Disturbed<'_>, name: &str) -> Result<()> {
        let now = made(&fleet.links.work(name));
        ensure!(now == self.made, "{name}: made {now:?}, not {:?}", self.made);
        Ok(())
    }

    /// The end of all: waits until all is quiet and as after the last act, ends the imports, and waits until nothing
    /// is left.
    pub(crate) async fn end(&self, fleet: &mut Disturbed<'_>, names: &[String]) -> Result<()> {
        fleet.quiet(QUIET).await?;
        self.comes_out(fleet, names, Act::Unexport, Duration::ZERO).await.context("in the end")?;
        let all = fleet_testbed::objects::api(
            fleet.stage.importer().client(),
            kinds::MULTI_CLUSTER_SERVICE,
            Some(&self.namespace),
        );
        all.delete_collection(
            &kube::api::DeleteParams::default(),
            &kube::api::ListParams::default(),
        )
        .await?;
        fleet.stage.nothing_left(&self.namespace).await
    }
}

/// Distributes what disturbs one write each among runs of the story, as few as possible: each act of a run has one at most. What
/// an act comes to is compared before the next one begins, so that this begins as if nothing had been disturbed.
pub(crate) fn distributed<C>(cases: impl IntoIterator<Item = (Act, C)>) -> Vec<BTreeMap<Act, C>> {
    let mut runs: Vec<BTreeMap<Act, C>> = Vec::new();
    let mut next: BTreeMap<Act, usize> = BTreeMap::new();
    for (act, case) in cases {
        let number = next.entry(act).or_default();
        if *number == runs.len() {
            runs.push(BTreeMap::new());
        }
        runs[*number].insert(act, case);
        *number += 1;
    }
    runs
}

fn numbered(act: Act, entries: &[(Link, Entry)]) -> Vec<Write> {
    let mut counts = BTreeMap::new();
    let number = |(link, entry): &(Link, Entry)| {
        let (verb, resource) = (entry.seen.verb, entry.seen.resource.clone());
        let count: &mut usize = counts.entry((*link, verb, resource.clone())).or_default();
        *count += 1;
        Write { act, link: *link, verb, resource, nth: *count - 1 }
    };
    entries.iter().map(number).collect()
}

fn made(entries: &[(Link, Entry)]) -> BTreeMap<(Link, String), usize> {
    let mut counts = BTreeMap::new();
    for (link, entry) in entries {
        let done = entry.server.is_some_and(|code| code.is_success());
        if entry.seen.verb == Verb::Create && done {
            *counts.entry((*link, entry.seen.resource.clone())).or_default() += 1;
        }
    }
    counts
}
