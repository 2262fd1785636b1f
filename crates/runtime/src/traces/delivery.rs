//! Takes spans to a collector: OTLP in protobuf over HTTP, in batches from a thread of its own, so that no write ever
//! waits for it. What the collector does not take in time is lost.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleet_accumulator::one_line;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;

use super::endpoint::Endpoint;
use crate::clients;

/// Limit of one request. OpenTelemetry's own default.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last spans may take at the end.
const LAST: Duration = Duration::from_secs(3);
/// An answer longer than this is not from a collector.
const LONGEST_ANSWER: usize = 1 << 20;

/// Who sends the spans.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The program.
    pub agent: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The cluster that it works for, where it has a name.
    pub cluster: Option<String>,
}

impl Origin {
    fn resource(&self) -> Resource {
        let cluster = self.cluster.clone().map(|name| KeyValue::new("k8s.cluster.name", name));
        Resource::builder()
            .with_service_name(self.agent)
            .with_attribute(KeyValue::new("service.namespace", "fleet-networking"))
            .with_attribute(KeyValue::new("service.version", self.version))
            .with_attributes(cluster)
            .build()
    }
}

/// Why spans cannot be delivered.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// What the connection would need, the system's certificates for example.
    #[error("--otlp-endpoint: {0}")]
    Client(String),
    /// OpenTelemetry's own variables.
    #[error("OTEL_EXPORTER_OTLP_*: {0}")]
    Settings(#[from] ExporterBuildError),
}

/// Delivers spans until it is stopped.
#[derive(Debug)]
pub struct Delivery(SdkTracerProvider);

impl Delivery {
    /// Needs a tokio runtime around it.
    ///
    /// # Errors
    /// What keeps spans from being delivered whatever the collector answers.
    pub fn start(endpoint: &Endpoint, origin: &Origin) -> Result<Self, DeliveryError> {
        let client = clients::without_credentials(endpoint.server())
            .map_err(|error| DeliveryError::Client(one_line(&error)))?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Post::new(client, endpoint))
            .with_endpoint(endpoint.traces())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(TIMEOUT)
            .build()?;
        let provider = SdkTracerProvider::builder()
            .with_resource(origin.resource())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self(provider))
    }

    /// The source of spans that are delivered here.
    pub(super) fn provider(&self) -> &SdkTracerProvider {
        &self.0
    }

    /// Waits for the last spans and delivers what is left.
    pub async fn finish(self, ended: impl Future<Output = ()>) {
        ended.await;
        let last = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(LAST));
        if let Ok(Err(error)) = last.await {
            tracing::warn!(%error, "Final traces are lost");
        }
    }
}

/// Sends requests on the agent's runtime, for a thread that is not part of it.
struct Post {
    client: Client,
    runtime: Handle,
    url: String,
    /// Whether the last one failed: logged once, not for each batch.
    failing: Arc<AtomicBool>,
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Post").field(&self.url).finish()
    }
}

impl Post {
    fn new(client: Client, endpoint: &Endpoint) -> Self {
        let (runtime, url) = (Handle::current(), endpoint.traces());
        Self { client, runtime, url, failing: Arc::default() }
    }

    /// Logs when spans begin to be lost, and when they no longer are.
    fn report(&self, problem: Option<&str>) {
        let failed = self.failing.swap(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(error) if !failed => {
                tracing::warn!(url = self.url, error, "Trace delivery fails");
            }
            None if failed => tracing::info!(url = self.url, "Trace delivery works again"),
            _ => {}
        }
    }
}

impl HttpClient for Post {
    fn send_bytes<'post, 'sent>(
        &'post self,
        request: Request<Bytes>,
    ) -> BoxFuture<'sent, Result<Response<Bytes>, HttpError>>
    where
        'post: 'sent,
        Self: 'sent,
    {
        let exchange = exchange(self.client.clone(), request);
        // Timers exist on the runtime only.
        let answer = self.runtime.spawn(async { tokio::time::timeout(TIMEOUT, exchange).await });
        async move {
            let answer = answer.await?.unwrap_or_else(|late| Err(late.into()));
            let problem = match &answer {
                Ok(answer) if answer.status().is_success() => None,
                Ok(answer) => Some(format!("the collector answers {}", answer.status())),
                Err(error) => Some(one_line(&**error)),
            };
            self.report(problem.as_deref());
            answer
        }
        .boxed()
    }
}

async fn exchange(client: Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (head, body) = request.into_parts();
    let answer = client.send(Request::from_parts(head, Body::from(body))).await?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, LONGEST_ANSWER).collect().await?.to_bytes();
    Ok(Response::from_parts(head, body))
}
