//! Runs `map`.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;

use super::args::MapArgs;
use super::guard::Guard;
use super::live::Live;
use super::replay::Replay;
use super::server::router;
use super::source::Source;
use crate::args::Cli;
use crate::output::{print, report};
use crate::recorded::load;

/// Serves the page until it is interrupted.
pub(crate) async fn run(cli: &Cli, args: &MapArgs) -> Result<ExitCode> {
    let live = match &args.replay {
        Some(_) => None,
        None => Some(Live::start(&cli.access).await?),
    };
    let source = match (&args.replay, &live) {
        (Some(file), _) => {
            let file = file.clone();
            // The first look at a frame of a large fleet takes a while: it comes before the address is printed.
            let read = move || {
                let replay = Replay::new(load(&file)?);
                replay.shown(None);
                anyhow::Ok(replay)
            };
            Source::replay(tokio::task::spawn_blocking(read).await??)
        }
        (None, Some(live)) => Source::live(Arc::clone(live)),
        (None, None) => return Ok(ExitCode::SUCCESS),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("listen on {address}"))?;
    let guard = Guard::new(listener.local_addr()?)?;
    print(&format!("{}\n", guard.url()))?;
    report("Open this address in a browser on this computer; end it with Ctrl-C.");
    let served = axum::serve(listener, router(Arc::new(source), guard));
    let follow = async {
        match live {
            Some(live) => live.follow().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        served = std::future::IntoFuture::into_future(served) => served?,
        followed = follow => followed?,
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(ExitCode::SUCCESS)
}
