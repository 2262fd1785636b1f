//! The HTTP server for probes and metrics: `/livez`, `/readyz`, `/healthz`, `/metrics`.
//!
//! It answers from memory and is the first thing an agent starts, so that a probe shows what is
//! waited for even while no API server can be reached.

mod address;
mod error;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use address::Address;
use routes::Routes;

pub use error::AdminError;
pub use routes::Probes;

/// A probe sends its few headers in one packet.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Smallest buffer that hyper allows; requests here have no body.
const BUFFER: usize = 8 * 1024;
/// Open connections per address: enough for kubelet and some scrapers, not for an accident.
const CONNECTIONS: usize = 64;
/// Pause after an accept failed, which happens when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long answers may take to finish at shutdown.
const DRAIN: Duration = Duration::from_secs(1);

/// Where to listen: a flag and its value. Several may have the same value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Where `/metrics` is to be.
    pub metrics: Vec<(&'static str, String)>,
    /// Where the probes are to be.
    pub health: Vec<(&'static str, String)>,
}

/// Listens, but does not answer before [`run`](Self::run).
#[derive(Debug)]
pub struct AdminServer {
    metrics: Option<SocketAddr>,
    health: Option<SocketAddr>,
    listeners: Vec<(TcpListener, Routes)>,
}

impl AdminServer {
    /// Takes the addresses.
    ///
    /// # Errors
    /// One line that names the flag.
    pub async fn bind(
        addresses: &Addresses,
        registry: Registry,
        probes: Probes,
    ) -> Result<Self, AdminError> {
        let metrics = Routes { registry: Some(registry), probes: None };
        let health = Routes { registry: None, probes: Some(probes) };
        let mut wanted: Vec<(Address, Routes)> = Vec::new();
        for (flags, routes) in [(&addresses.metrics, metrics), (&addresses.health, health)] {
            for (flag, text) in flags {
                let Some(address) = Address::parse(flag, text)? else { continue };
                let same =
                    |(other, _): &&mut (Address, Routes)| *other == address && !address.any_port();
                match wanted.iter_mut().find(same) {
                    Some((_, all)) => all.join(&routes),
                    None => wanted.push((address, routes.clone())),
                }
            }
        }
        let mut server = Self { metrics: None, health: None, listeners: Vec::new() };
        for (address, routes) in wanted {
            let (metrics, health) = (routes.registry.is_some(), routes.probes.is_some());
            let bound = server.listen(&address, routes).await?;
            if metrics {
                server.metrics.get_or_insert(bound);
            }
            if health {
                server.health.get_or_insert(bound);
            }
        }
        Ok(server)
    }

    async fn listen(
        &mut self,
        address: &Address,
        routes: Routes,
    ) -> Result<SocketAddr, AdminError> {
        let listener = address.bind().await?;
        let bound = listener.local_addr().map_err(|source| address.error(source))?;
        self.listeners.push((listener, routes));
        Ok(bound)
    }

    /// Where `/metrics` is, first of all; `None` if switched off.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Where the probes are, first of all; `None` if switched off.
    pub fn health_address(&self) -> Option<SocketAddr> {
        self.health
    }

    /// Answers until `cancel`.
    pub async fn run(self, cancel: CancellationToken) {
        let all = self.listeners.into_iter().map(|(listener, routes)| {
            let cancel = cancel.clone();
            serve(listener, routes, cancel)
        });
        futures::future::join_all(all).await;
        // With both addresses switched off there is nothing to serve, but ending early would look
        // like a failure to the one who supervises this task.
        cancel.cancelled().await;
    }
}

async fn serve(listener: TcpListener, routes: Routes, cancel: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(BUFFER);
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS));

    while let Some(Ok(slot)) = cancel.run_until_cancelled(slots.clone().acquire_owned()).await {
        let stream = match cancel.run_until_cancelled(listener.accept()).await {
            None => break,
            Some(Ok((stream, _))) => stream,
            Some(Err(error)) => {
                tracing::warn!(%error, "Cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let routes = routes.clone();
        let service = service_fn(move |request| {
            let answer = routes.answer(&request);
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A peer that hangs up or is too slow is no news.
            let _ = connection.await;
            drop(slot);
        });
    }
    let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await;
}

#[cfg(test)]
mod tests;
