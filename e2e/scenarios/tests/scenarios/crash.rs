//! An agent is killed at each of its writes, just before the API server sees it and just after it was done.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use fleet_testbed::agents::Agents;
use fleet_testbed::fault_proxy::{Fault, Rule};

use crate::disturbed::Disturbed;
use crate::stage::{DEADLINE, Stage};
use crate::story::{ACTS, Act, Story, Write, distributed};
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
    let (mut names, mut crashes, begin) = (Vec::new(), 0, Instant::now());
    let faults = [Fault::HoldBefore, Fault::HoldAfter];
    let cases = story.writes.iter().flat_map(|write| {
        faults.iter().map(move |fault| (write.act, (write.clone(), fault.clone())))
    });
    for cases in distributed(cases) {
        let name = story.name();
        crashes += cases.len();
        crash_at(&mut fleet, &story, &name, &cases).await?;
        names.push(name);
    }
    eprintln!("{crashes} crashes in {:.1?}", begin.elapsed());
    story.end(&mut fleet, &names).await
}

/// One run, whose acts each have a crash at one write.
async fn crash_at(
    fleet: &mut Disturbed<'_>,
    story: &Story,
    name: &str,
    cases: &BTreeMap<Act, (Write, Fault)>,
) -> Result<()> {
    let names = [name.to_owned()];
    for act in ACTS {
        let case = cases.get(&act);
        let planned = case.map(|(write, fault)| {
            // Held: its agent will not live to see it go on.
            fleet.links.get(write.link).plan(rule(name, write, fault.clone()))
        });
        story.perform(fleet.stage, name, act).await?;
        if let (Some((write, fault)), Some(planned)) = (case, &planned) {
            let hit = planned.happened(DEADLINE).await;
            hit.with_context(|| format!("{name}: {fault:?} {write}"))?;
            fleet.kill(write.link)?;
        }
        let outcome = story.comes_out(fleet, &names, act, DEADLINE).await;
        outcome.with_context(|| format!("{name}: after a crash at {case:?}"))?;
    }
    story.made_once(fleet, name)
}

/// A fault for one write of one act of a run, to be planned when the act begins.
pub(crate) fn rule(name: &str, write: &Write, fault: Fault) -> Rule {
    let (name, verb, resource) = (name.to_owned(), write.verb, write.resource.clone());
    Rule::new(fault, move |seen| {
        seen.verb == verb && seen.resource == resource && seen.mentions(&name)
    })
    .after(write.nth)
}
