//! Starts and ends drains.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use fleet_api::ObjectName;
use fleet_api::traffic::{ALL_SERVICES, DrainRequest, MemberTrafficStatus};

use super::args::{DrainArgs, UndrainArgs};
use super::impact::{self, Impact};
use super::permission::{check_exported, check_served};
use super::progress::{self, Progress};
use super::write;
use crate::args::Cli;
use crate::gather::WatchedHub;
use crate::member_objects::check_name;
use crate::output::{NO, report};

/// Pause between two looks at the progress.
const LOOK: Duration = Duration::from_secs(1);
/// How long a refusal from before a request may still be shown: the hub agent looks again at refused drains every ten seconds.
const STALE: Duration = Duration::from_secs(15);

/// What no object of Kubernetes shows.
const CONNECTIONS: &str = "Established connections go on, and are not seen here: watch your own metrics, or conntrack -L on nodes, before you stop anything";

/// Starts a drain.
pub(crate) async fn drain(cli: &Cli, args: &DrainArgs) -> Result<ExitCode> {
    check_name(&args.drained)?;
    let hub = WatchedHub::start(&cli.access).await?;
    let impacts = impact::of(&args.drained, &args.services, &hub.snapshot());
    if !args.force {
        check_exported(&args.drained, &args.services, &impacts)?;
    }
    if args.dry_run {
        for impact in &impacts {
            report(&impact.line());
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !args.force
        && let Err(refused) = check_served(&impacts)
    {
        for line in refused.lines() {
            report(&line);
        }
        return Ok(ExitCode::from(NO));
    }
    if !args.remove && impacts.iter().any(Impact::is_alone) {
        report("Services that no other member serves are served by last resort endpoints");
    }
    let request = |service: String| DrainRequest {
        service,
        percent: 100,
        over_seconds: seconds(args.over),
        remove: args.remove,
        force: args.force,
    };
    let requests: Vec<_> = names(&args.services).into_iter().map(request).collect();
    let change = write::change(&hub.clients.write, &args.drained, |spec, status| {
        write::request(spec, status, &requests);
    });
    let before = change.await?.status.unwrap_or_default();
    report(&format!("Asked the hub agent to drain {}", args.drained));
    let code = if args.wait {
        wait(&hub, &args.drained, &requests, &before).await?
    } else {
        ExitCode::SUCCESS
    };
    report(CONNECTIONS);
    Ok(code)
}

/// Drains a member that is about to leave, to the last step. With `force` also what no other member serves: it ends anyway.
pub(crate) async fn drain_to_leave(
    cli: &Cli,
    member: &str,
    over: Duration,
    force: bool,
    dry_run: bool,
) -> Result<ExitCode> {
    let args = DrainArgs {
        drained: member.to_owned(),
        services: Vec::new(),
        over,
        remove: false,
        force,
        dry_run,
        wait: true,
    };
    drain(cli, &args).await
}

/// Ends drains.
pub(crate) async fn undrain(cli: &Cli, args: &UndrainArgs) -> Result<ExitCode> {
    check_name(&args.drained)?;
    let hub = WatchedHub::start(&cli.access).await?;
    let object = write::read(&hub.clients.write, &args.drained).await?;
    let status = object.status.unwrap_or_default();
    let drained = object.spec.drains.iter().map(|drain| drain.service.clone());
    let drained = drained.chain(status.drains.into_iter().map(|drain| drain.service));
    let mut services: Vec<_> =
        if args.services.is_empty() { drained.collect() } else { names(&args.services) };
    services.sort_unstable();
    services.dedup();
    if services.is_empty() {
        report(&format!(
            "Nothing of {} is drained on this hub. Importers that keep a drain of an earlier hub end it",
            args.drained
        ));
        services.push(ALL_SERVICES.to_owned());
    }
    let request = |service: String| DrainRequest {
        service,
        percent: 0,
        over_seconds: seconds(args.over),
        ..DrainRequest::default()
    };
    let requests: Vec<_> = services.into_iter().map(request).collect();
    let change = write::change(&hub.clients.write, &args.drained, |spec, status| {
        write::request(spec, status, &requests);
    });
    let before = change.await?.status.unwrap_or_default();
    report(&format!("Asked the hub agent to end the drain of {}", args.drained));
    if args.wait {
        wait(&hub, &args.drained, &requests, &before).await
    } else {
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints each step until the last. `before` is what the hub agent had reported when this was asked for.
async fn wait(
    hub: &WatchedHub,
    member: &str,
    requests: &[DrainRequest],
    before: &MemberTrafficStatus,
) -> Result<ExitCode> {
    let mut printed = String::new();
    let stale = progress::is_refused(requests, before).then(|| Instant::now() + STALE);
    loop {
        tokio::time::sleep(LOOK).await;
        let object = write::read(&hub.clients.write, member).await?;
        let status = object.status.unwrap_or_default();
        let progress = progress::of(requests, &status, &hub.snapshot());
        let is_stale = stale.is_some_and(|until| Instant::now() < until);
        if is_stale && matches!(progress, Progress::Refused(_)) {
            continue;
        }
        let (Progress::Goes(text) | Progress::Done(text) | Progress::Refused(text)) = &progress;
        if *text != printed {
            report(text);
            printed.clone_from(text);
        }
        match progress {
            Progress::Goes(_) => {}
            Progress::Done(_) => return Ok(ExitCode::SUCCESS),
            Progress::Refused(_) => return Ok(ExitCode::from(NO)),
        }
    }
}

/// Services as a drain names them; all of the member where none is given.
pub(crate) fn names(services: &[ObjectName]) -> Vec<String> {
    if services.is_empty() {
        return vec![ALL_SERVICES.to_owned()];
    }
    services.iter().map(|service| format!("{}/{}", service.namespace, service.name)).collect()
}

fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}
