//! The command.

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use fleet_accumulator::one_line;
use fleet_api::ObjectName;
use fleet_api::multicluster::ReachReport;
use fleet_runtime::clock::Clock;
use futures::TryStreamExt as _;
use kube::api::ListParams;
use kube::{Api, Client};

use super::reached::Reached;
use crate::args::Cli;
use crate::objects::each_page;
use crate::output::{answer, data, print};

/// Reports of one page of a list.
const PAGE: u32 = 100;

/// Prints what members reach.
pub(crate) async fn run(cli: &Cli) -> Result<ExitCode> {
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?;
    let read = tokio::time::timeout(cli.access.patience(), reports(&hub.watch)).await;
    let Ok(reports) = read else {
        bail!("the hub has not listed ReachReports within {} s", cli.access.timeout);
    };
    let now = Clock::system().now();
    let reports = reports?;
    let named: Vec<_> = reports.iter().map(|report| (name_of(report), &report.spec)).collect();
    let reached = Reached::of(named.iter().map(|(name, spec)| (name, *spec)), now);
    let text = data(cli.output.format, &reached)?;
    print(&text.unwrap_or_else(|| reached.text(now, cli.output.paint())))?;
    Ok(answer(reached.unreachable == 0))
}

fn name_of(report: &ReachReport) -> ObjectName {
    let of = |name: &Option<String>| name.clone().unwrap_or_default();
    ObjectName::new(of(&report.metadata.namespace), of(&report.metadata.name))
}

async fn reports(hub: &Client) -> Result<Vec<ReachReport>> {
    let api: Api<ReachReport> = Api::all(hub.clone());
    match each_page(api, ListParams::default().limit(PAGE)).try_concat().await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            bail!(
                "the hub serves no ReachReports: value reachability.enabled of the chart hub-agent"
            )
        }
        all => all.map_err(|error| anyhow!("list ReachReports: {}", one_line(&error))),
    }
}
