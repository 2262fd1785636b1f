//! What a provider does.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::offload::PodExportSpec;

use super::write::Write;
use crate::life::ExportState;
use crate::pod::Rejection;

/// A backend that runs Pods.
pub trait Provider {
    /// The writes that are missing for a Pod to run as it is given; none if it does.
    ///
    /// # Errors
    /// If it cannot run like that, or not now.
    fn ensure(&self, pod: &PodExportSpec) -> Result<Vec<Write>, ProviderError>;

    /// The writes that are missing for a Pod to end within this time; none if it is ending.
    ///
    /// # Errors
    /// [`ProviderError::NotFound`] if there is nothing of it: it has ended.
    fn stop(&self, uid: &str, grace_seconds: i64) -> Result<Vec<Write>, ProviderError>;

    /// All Pods of this virtual node that the backend has, by uid. One that is not wanted is among them, too.
    fn observed(&self) -> BTreeMap<String, ExportState>;
}

/// Why a provider cannot do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderError {
    /// It has nothing of that Pod.
    NotFound,
    /// It does not run such a Pod.
    Rejected(Rejection),
    /// It does not know what it has at the moment.
    Unavailable {
        /// When to ask again, if it knows.
        retry_after: Option<Duration>,
    },
    /// What it has of that Pod is ending.
    Conflict,
}
