//! The explanation of one Service: the steps on its path, and where it stops. Data only.

use std::fmt;

use serde::Serialize;

pub use crate::cause::Cause;

/// The explanation of one Service of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// `namespace/name`.
    pub service: String,
    /// One sentence: where the Service stops, or that it works.
    pub verdict: String,
    /// Advice for the first step that stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The members that receive endpoints, and from which members.
    pub crossings: Vec<Crossing>,
    /// Every step on the path from exporters to importers.
    pub hops: Vec<Hop>,
}

/// Endpoints of exporting members that arrived in an importing member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Crossing {
    /// Exporting members.
    pub from: Vec<String>,
    /// The importing member.
    pub to: String,
    /// Ready endpoints.
    pub endpoints: usize,
    /// The group of the API by which they arrived, if that is not networking.fleet.azure.com.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<&'static str>,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// No problem.
    Ok,
    /// It could not be read.
    Unseen,
    /// The Service stops here.
    Stops,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Unseen => "unseen",
            Self::Stops => "stops",
        })
    }
}

/// One step: an object, or a group of objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hop {
    /// The member, `hub`, or `fleet` for a statement about all members.
    pub cluster: String,
    /// The object or objects.
    pub object: String,
    /// The state.
    pub state: State,
    /// The reason why the Service stops here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The finding.
    pub says: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Hop {
    /// A step without a problem.
    pub fn ok(cluster: &str, object: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(cluster, object, State::Ok, says)
    }

    /// A step that could not be read.
    pub fn unseen(cluster: &str, object: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(cluster, object, State::Unseen, says)
    }

    /// A step at which the Service stops.
    pub fn stop(
        cluster: &str,
        object: impl Into<String>,
        cause: Cause,
        says: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let (cause, advice) = (Some(cause), Some(advice.into()));
        Self { cause, advice, ..Self::new(cluster, object, State::Stops, says) }
    }

    /// Whether the Service stops here.
    pub fn stops(&self) -> bool {
        self.state == State::Stops
    }

    fn new(
        cluster: &str,
        object: impl Into<String>,
        state: State,
        says: impl Into<String>,
    ) -> Self {
        let (cluster, object, says) = (cluster.to_owned(), object.into(), says.into());
        Self { cluster, object, state, cause: None, says, advice: None }
    }
}

impl Story {
    /// An explanation; the first step that stops gives verdict and advice.
    pub fn new(service: String, hops: Vec<Hop>, crossings: Vec<Crossing>) -> Self {
        let stop = hops.iter().find(|hop| hop.stops());
        let verdict = match (stop, crossings.is_empty()) {
            (None, true) => {
                format!(
                    "{service} cannot be followed to its importers: some clusters could not be read"
                )
            }
            (None, false) => format!("{service} works {}", sentence(&crossings)),
            (Some(stop), true) => format!("{service} stops {}: {}", at(stop), stop.says),
            (Some(stop), false) => format!(
                "{service} works {}, but stops {}: {}",
                sentence(&crossings),
                at(stop),
                stop.says
            ),
        };
        let advice = stop.and_then(|stop| stop.advice.clone());
        Self { service, verdict, advice, crossings, hops }
    }

    /// Whether the Service stops anywhere.
    pub fn stops(&self) -> bool {
        self.hops.iter().any(Hop::stops)
    }

    /// The reason of the first stop.
    pub fn cause(&self) -> Option<Cause> {
        self.hops.iter().find_map(|hop| hop.cause)
    }
}

fn at(hop: &Hop) -> String {
    match hop.cluster.as_str() {
        "hub" => "on the hub".to_owned(),
        "fleet" => "at its beginning".to_owned(),
        member => format!("in {member}"),
    }
}

fn sentence(crossings: &[Crossing]) -> String {
    let api = |crossing: &Crossing| crossing.api.map(|api| format!(" ({api})"));
    let one = |crossing: &Crossing| {
        let (from, to) = (crossing.from.join(", "), &crossing.to);
        format!("from {from} to {to}{}", api(crossing).unwrap_or_default())
    };
    crossings.iter().map(one).collect::<Vec<_>>().join("; ")
}
