//! Single requests fail while all processes live: connections that break before or after a write, refusals, overload,
//! errors, answers without content, and a faster writer. Each happens once to each write of a story, in one of
//! several runs of it that go on side by side.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_testbed::agents::Agents;
use fleet_testbed::fault_proxy::{Answer, Entry, Fault, Link, Planned, Verb};
use http::StatusCode;

use crate::crash::rule;
use crate::disturbed::Disturbed;
use crate::stage::{DEADLINE, Stage};
use crate::story::{ACTS, Story, Write, distributed};
use crate::tests::Tests;

/// Seconds that an overloaded server asks for.
const RETRY_AFTER: u64 = 1;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // The proxy shows certificates of the testbed.
    }
    tests.apart("faults::each_answer_to_each_write", each_answer_to_each_write);
}

fn answer(code: StatusCode) -> Answer {
    Answer::new(code)
}

/// F03 to F07: reply lost, request lost, conflict, overload, errors, outcome unknown.
async fn each_answer_to_each_write(stage: &Stage, others: &mut Agents) -> Result<()> {
    let mut fleet = Disturbed::start(stage, others).await?;
    let mut story = Story::learn(&mut fleet, "faults").await?;
    let overloaded =
        Answer { retry_after: Some(RETRY_AFTER), ..answer(StatusCode::TOO_MANY_REQUESTS) };
    let mut names = Vec::new();
    // A few at once: most of the time is spent waiting for the next attempt.
    for faults in [
        &[Fault::CutAfter, Fault::CutBefore, Fault::Race][..],
        &[Fault::AnswerBefore(answer(StatusCode::CONFLICT)), Fault::AnswerBefore(overloaded)],
        &[
            Fault::AnswerBefore(answer(StatusCode::INTERNAL_SERVER_ERROR)),
            Fault::AnswerBefore(answer(StatusCode::GATEWAY_TIMEOUT)),
            Fault::AnswerAfter(answer(StatusCode::GATEWAY_TIMEOUT)),
        ],
    ] {
        let begin = Instant::now();
        let (met, told) =
            meet(&mut fleet, &mut story, faults).await.with_context(|| format!("{faults:?}"))?;
        eprintln!("{met} writes met {faults:?}, {:.1?}", begin.elapsed());
        names.extend(told);
    }
    story.end(&mut fleet, &names).await
}

/// A fault, and the one write of one act of a run that meets it.
struct Meeting<'a> {
    name: &'a str,
    write: &'a Write,
    fault: &'a Fault,
    planned: Planned,
}

/// Each write that can meet a fault does, in one of several runs of the story. Returns how many these were, and the runs.
async fn meet(
    fleet: &mut Disturbed<'_>,
    story: &mut Story,
    faults: &[Fault],
) -> Result<(usize, Vec<String>)> {
    let cases = faults.iter().flat_map(|fault| story.writes.iter().map(move |one| (one, fault)));
    // Before it is made there is nothing that another writer could change.
    let cases = cases.filter(|(write, fault)| **fault != Fault::Race || write.verb != Verb::Create);
    let runs = distributed(cases.map(|(write, fault)| (write.act, (write.clone(), fault))));
    let names: Vec<String> = runs.iter().map(|_| story.name()).collect();
    let mut met = 0;
    for act in ACTS {
        let begin = Instant::now();
        let cases = names.iter().zip(&runs).filter_map(|(name, run)| Some((name, run.get(&act)?)));
        let meetings: Vec<Meeting<'_>> =
            cases.map(|(name, (write, fault))| plan(fleet, name, write, fault)).collect();
        story.perform_all(fleet.stage, &names, act).await?;
        story.comes_out(fleet, &names, act, DEADLINE).await?;
        for one in &meetings {
            judge(fleet, begin, one)
                .await
                .with_context(|| format!("{}: {:?} at {}", one.name, one.fault, one.write))?;
        }
        met += meetings.len();
    }
    names.iter().try_for_each(|name| story.made_once(fleet, name))?;
    Ok((met, names))
}

fn plan<'a>(
    fleet: &Disturbed<'_>,
    name: &'a str,
    write: &'a Write,
    fault: &'a Fault,
) -> Meeting<'a> {
    let planned = fleet.links.get(write.link).plan(rule(name, write, fault.clone()));
    Meeting { name, write, fault, planned }
}

/// Judges what the agents did since the act began.
async fn judge(fleet: &Disturbed<'_>, begin: Instant, meeting: &Meeting<'_>) -> Result<()> {
    // A watch may show a write before its answer has reached the proxy.
    meeting.planned.happened(DEADLINE).await?;
    let mut entries = fleet.links.work(meeting.name);
    entries.retain(|(_, entry)| entry.at >= begin);
    nothing_stale_again(&entries)?;
    if let Fault::AnswerBefore(Answer { retry_after: Some(seconds), .. }) = meeting.fault {
        patience(&entries, meeting.write, Duration::from_secs(*seconds))?;
    }
    Ok(())
}

/// What the API server has refused because another writer was faster is planned anew, not sent again.
fn nothing_stale_again(entries: &[(Link, Entry)]) -> Result<()> {
    for (number, (link, refused)) in entries.iter().enumerate() {
        if refused.server != Some(StatusCode::CONFLICT) || refused.seen.verb == Verb::Create {
            continue;
        }
        let again = entries[number + 1..]
            .iter()
            .find(|(of, later)| of == link && later.seen == refused.seen);
        ensure!(again.is_none(), "sent again: {refused}");
    }
    Ok(())
}

/// Who is asked to come back later does not come earlier.
fn patience(entries: &[(Link, Entry)], write: &Write, pause: Duration) -> Result<()> {
    let same =
        |entry: &Entry| entry.seen.verb == write.verb && entry.seen.resource == write.resource;
    let of_link = entries.iter().filter(|(link, entry)| *link == write.link && same(entry));
    let of_link: Vec<&Entry> = of_link.map(|(_, entry)| entry).collect();
    let refused = of_link
        .iter()
        .position(|entry| entry.client == Some(StatusCode::TOO_MANY_REQUESTS))
        .context("nothing was refused")?;
    let (at, path) = (of_link[refused].ended.context("answered")?, &of_link[refused].seen.path);
    let next = of_link[refused + 1..].iter().find(|entry| entry.seen.path == *path);
    let next = next.context("it was not tried again")?;
    ensure!(next.at - at >= pause, "tried again after {:?}", next.at - at);
    Ok(())
}
