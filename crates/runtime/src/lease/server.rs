//! The Lease object.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::one_line;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, PostParams};

use super::elector::{Found, Object};

/// Bytes of annotations that a Lease carries at most: with more than 256 KiB the API server refuses it, and who leads could not renew.
const MOST_NOTED: usize = 250_000;

/// One Lease, as the election sees it.
pub(super) struct LeaseServer {
    api: Api<Lease>,
    namespace: String,
    name: String,
    params: PostParams,
    annotations: Box<dyn Fn() -> BTreeMap<String, String> + Send + Sync>,
    reader: Box<dyn Fn(BTreeMap<String, String>) + Send + Sync>,
}

/// Why a request had no effect that is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// The server has another version, or has one already.
    #[error("another process was faster")]
    Conflict,
    /// Nothing is known.
    #[error("{0}")]
    Other(String),
}

impl LeaseServer {
    /// Writes are marked with `manager`.
    pub(super) fn new(client: Client, namespace: &str, name: String, manager: &str) -> Self {
        let params =
            PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name,
            params,
            annotations: Box::new(BTreeMap::new),
            reader: Box::new(drop),
        }
    }

    /// Writes what `annotations` returns with each record.
    pub(super) fn annotate(
        &mut self,
        annotations: impl Fn() -> BTreeMap<String, String> + Send + Sync + 'static,
    ) {
        self.annotations = Box::new(annotations);
    }

    /// Hands the annotations of each Lease that is read to `reader`, before anything is written over it; none if there is no Lease.
    pub(super) fn hand_on(
        &mut self,
        reader: impl Fn(BTreeMap<String, String>) + Send + Sync + 'static,
    ) {
        self.reader = Box::new(reader);
    }

    /// Name of the Lease.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What the server has.
    pub(super) async fn read(&self, timeout: Duration) -> Result<Option<Found>, Failure> {
        let lease = answer(timeout, self.api.get_opt(&self.name)).await?;
        let noted = lease.as_ref().and_then(|lease| lease.metadata.annotations.clone());
        (self.reader)(noted.unwrap_or_default());
        Ok(lease.map(found))
    }

    /// Puts `record` in the place of version `at`, or creates it.
    pub(super) async fn write(
        &self,
        at: Option<String>,
        record: &Object,
        timeout: Duration,
    ) -> Result<Found, Failure> {
        let annotations = fitting((self.annotations)());
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                resource_version: at.clone(),
                annotations: (!annotations.is_empty()).then_some(annotations),
                ..ObjectMeta::default()
            },
            spec: Some(spec(record)),
        };
        let written = if at.is_some() {
            answer(timeout, self.api.replace(&self.name, &self.params, &lease)).await
        } else {
            answer(timeout, self.api.create(&self.params, &lease)).await
        };
        Ok(found(written?))
    }
}

/// What a Lease can carry of these annotations: the small ones rather than the large.
fn fitting(mut annotations: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let size = |(name, text): (&String, &String)| name.len() + text.len();
    while annotations.iter().map(size).sum::<usize>() > MOST_NOTED {
        let Some(largest) = annotations.iter().max_by_key(|it| size(*it)) else { break };
        let (largest, bytes) = (largest.0.clone(), size(largest));
        tracing::warn!(annotation = largest, bytes, "A Lease cannot carry what is to be noted");
        annotations.remove(&largest);
    }
    annotations
}

async fn answer<T>(
    timeout: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(timeout, request).await {
        Ok(Ok(answer)) => Ok(answer),
        // A lease that was deleted is one of another version.
        Ok(Err(kube::Error::Api(status)))
            if matches!(status.code, 404 | 409) && !is_namespace(&status) =>
        {
            Err(Failure::Conflict)
        }
        Ok(Err(error)) => Err(Failure::Other(one_line(&error))),
        Err(_) => Err(Failure::Other(format!("no answer within {timeout:?}"))),
    }
}

/// Whether it is the namespace that is missing.
fn is_namespace(status: &kube::core::Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.kind == "namespaces")
}

fn found(lease: Lease) -> Found {
    let spec = lease.spec.unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Found {
        version: lease.metadata.resource_version.unwrap_or_default(),
        record: Object {
            holder: spec.holder_identity.unwrap_or_default(),
            duration: Duration::from_secs(seconds.unwrap_or_default()),
            acquired: spec.acquire_time.map(|time| time.0),
            renewed: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
        },
    }
}

fn spec(record: &Object) -> LeaseSpec {
    let micro = |time: Option<Timestamp>| time.map(MicroTime);
    LeaseSpec {
        holder_identity: Some(record.holder.clone()),
        lease_duration_seconds: i32::try_from(record.duration.as_secs()).ok(),
        acquire_time: micro(record.acquired),
        renew_time: micro(record.renewed),
        lease_transitions: Some(record.transitions),
        ..LeaseSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_carries_what_fits() {
        let noted = |sizes: &[(&str, usize)]| -> BTreeMap<String, String> {
            sizes.iter().map(|(name, size)| ((*name).to_owned(), "x".repeat(*size))).collect()
        };
        let small = noted(&[("drains", 100_000), ("followed", 80)]);
        assert_eq!(fitting(small.clone()), small);
        let hostile = noted(&[("drains", 100_000), ("followed", 300_000), ("reached", 160_000)]);
        assert_eq!(fitting(hostile), noted(&[("drains", 100_000)]));
        assert_eq!(fitting(noted(&[("drains", MOST_NOTED)])), BTreeMap::new());
    }
}
