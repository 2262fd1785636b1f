//! An agent is killed at each of its writes, just before the API server sees it and just after it was done.

use std::time::Instant;

use anyhow::{Context, Result};
use fleet_testbed::agents::Agents;
use fleet_testbed::fault_proxy::{Fault, Planned, Rule};

use crate::disturbed::Disturbed;
use crate::stage::{DEADLINE, Stage};
use crate::story::{ACTS, Story, Write};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // The proxy shows certificates of the testbed.
    }
    tests.apart("crash::before_and_after_each_write", before_and_after_each_write);
}

/// F01, F02: a crash before or after any write heals, and comes to the same as no crash.
async fn before_and_after_each_write(stage: &Stage, others: &mut Agents) -> Result<()> {
    let mut fleet = Disturbed::start(stage, others).await?;
    let mut story = Story::learn(&mut fleet, "crash").await?;
    let (mut names, begin) = (Vec::new(), Instant::now());
    for write in story.writes.clone() {
        for fault in [Fault::HoldBefore, Fault::HoldAfter] {
            let what = format!("{fault:?} {write}");
            let name = story.name();
            crash_at(&mut fleet, &story, &name, &write, fault).await.context(what)?;
            names.push(name);
        }
    }
    eprintln!("{} crashes in {:.1?}", names.len(), begin.elapsed());
    story.end(&mut fleet, &names).await
}

async fn crash_at(
    fleet: &mut Disturbed<'_>,
    story: &Story,
    name: &str,
    write: &Write,
    fault: Fault,
) -> Result<()> {
    let planned = plan(fleet, name, write, fault);
    let mut killed = false;
    for act in ACTS {
        story.perform(fleet.stage, name, act).await?;
        let names = [name.to_owned()];
        if !killed {
            let outcome = story.comes_out(fleet, &names, act, DEADLINE);
            tokio::select! {
                biased;
                hit = planned.happened(DEADLINE) => { hit?; }
                outcome = outcome => {
                    outcome?;
                    if Some(&act) != ACTS.last() {
                        continue;
                    }
                    // A watch may show a write before its answer has reached the proxy.
                    planned.happened(DEADLINE).await?;
                }
            }
            fleet.kill(write.link)?;
            killed = true;
        }
        story.comes_out(fleet, &names, act, DEADLINE).await.context("after the crash")?;
    }
    story.made_once(fleet, name)
}

/// Holds the write of a run: its agent will not live to see it go on.
fn plan(fleet: &Disturbed<'_>, name: &str, write: &Write, fault: Fault) -> Planned {
    fleet.links.get(write.link).plan(rule(name, write, fault))
}

/// A fault for one write of one run.
pub(crate) fn rule(name: &str, write: &Write, fault: Fault) -> Rule {
    let (name, verb, resource) = (name.to_owned(), write.verb, write.resource.clone());
    Rule::new(fault, move |seen| {
        seen.verb == verb && seen.resource == resource && seen.mentions(&name)
    })
    .after(write.nth)
}
