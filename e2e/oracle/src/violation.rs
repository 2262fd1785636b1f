//! What the oracle reports.

use std::fmt;

use super::history::{Life, Version};
use super::quiescence::Moment;
use super::requests::Request;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Which invariant, for example `S13`.
    pub invariant: &'static str,
    /// In which cluster it shows.
    pub cluster: String,
    /// `Kind namespace/name`.
    pub object: String,
    /// Version of the object; 0 if it is about a request.
    pub version: u64,
    /// What is wrong.
    pub sentence: String,
}

impl Violation {
    /// About a version of an object.
    pub fn of(
        invariant: &'static str,
        life: &Life<'_>,
        version: &Version<'_>,
        sentence: impl Into<String>,
    ) -> Self {
        Self {
            invariant,
            cluster: life.cluster.to_owned(),
            object: life.title(),
            version: version.version(),
            sentence: sentence.into(),
        }
    }

    /// About a request.
    pub fn of_request(
        invariant: &'static str,
        request: &Request,
        sentence: impl Into<String>,
    ) -> Self {
        let Request { cluster, verb, resource, namespace, name, .. } = request;
        Self {
            invariant,
            cluster: cluster.clone(),
            object: format!("{verb} {resource} {namespace}/{name}"),
            version: 0,
            sentence: format!("{} ({})", sentence.into(), request.user),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, cluster, object, version, sentence } = self;
        write!(f, "{invariant} {cluster}: {object} at {version}: {sentence}")
    }
}

/// A violation by the state of an object at a moment.
pub(super) fn said(
    invariant: &'static str,
    life: &Life<'_>,
    moment: &Moment,
    sentence: impl Into<String>,
) -> Option<Violation> {
    let version = life.until(moment.until()).last()?;
    Some(Violation::of(invariant, life, version, sentence))
}
