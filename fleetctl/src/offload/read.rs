//! Reads offers and virtual nodes of a hub.

use std::process::ExitCode;

use anyhow::{Result, bail};
use fleet_accumulator::one_line;
use fleet_api::kinds;
use futures::TryStreamExt as _;
use kube::Client;
use kube::api::ListParams;

use super::status::{OffloadStatus, offload_status, offload_table};
use super::waiting::Waiting;
use crate::args::Cli;
use crate::objects::{api, each_page, list_all};
use crate::output::{answer, data, print};

/// Exports of one page of a list: each may be large.
const PAGE: u32 = 200;

/// What members offer to each other, and what became of it; nothing on a hub that does not serve the kinds.
///
/// # Errors
/// If the hub does not answer, or does not let the user read them.
pub(crate) async fn read(hub: &Client) -> Result<OffloadStatus> {
    let offers = list_all(hub, kinds::OFFLOAD_OFFER).await?;
    let nodes = list_all(hub, kinds::VIRTUAL_NODE).await?;
    let waiting = if nodes.is_empty() { Waiting::default() } else { waiting(hub).await? };
    Ok(offload_status(&offers, &nodes, &waiting))
}

/// Only what is counted of a page is kept.
async fn waiting(hub: &Client) -> Result<Waiting> {
    let mut waiting = Waiting::default();
    let params = ListParams::default().limit(PAGE);
    let mut pages = each_page(api(hub.clone(), kinds::POD_EXPORT, None), params);
    loop {
        match pages.try_next().await {
            Ok(Some(page)) => page.iter().for_each(|export| waiting.add(export)),
            Ok(None) => return Ok(waiting),
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(waiting),
            Err(error) => bail!("list {}: {}", kinds::POD_EXPORT.plural, one_line(&error)),
        }
    }
}

/// Reads and prints them.
pub(super) async fn run(cli: &Cli) -> Result<ExitCode> {
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?.write;
    let status = read(&hub).await?;
    let text = data(cli.output.format, &status)?;
    print(&text.unwrap_or_else(|| offload_table(&status, cli.output.paint())))?;
    Ok(answer(status.idle.is_empty() && status.nodes.iter().all(|node| node.help.is_none())))
}
