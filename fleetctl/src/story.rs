//! What is told about one Service: the hops it takes, and where it stops. Data only.

use std::fmt;

use serde::Serialize;

pub use crate::cause::Cause;

/// Everything that is told about one Service of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// `namespace/name`.
    pub service: String,
    /// One sentence: where it stops, or that it crosses.
    pub verdict: String,
    /// What to do about the first stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Who gets endpoints of whom.
    pub crossings: Vec<Crossing>,
    /// Every hop in the order of the way.
    pub hops: Vec<Hop>,
}

/// Endpoints of some members arrived in another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Crossing {
    /// Exporting members.
    pub from: Vec<String>,
    /// The importing member.
    pub to: String,
    /// Ready endpoints.
    pub endpoints: usize,
}

/// How a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It could not be looked at.
    Unseen,
    /// The Service gets no further here.
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

/// One object, or group of objects, on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hop {
    /// The member, `hub`, or `fleet` for what is said of all.
    pub cluster: String,
    /// What was looked at.
    pub object: String,
    /// How it is.
    pub state: State,
    /// Why it stops here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What was found.
    pub says: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Hop {
    /// All is well here.
    pub fn ok(cluster: &str, object: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(cluster, object, State::Ok, says)
    }

    /// Nobody knows.
    pub fn unseen(cluster: &str, object: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(cluster, object, State::Unseen, says)
    }

    /// Here it ends.
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

    /// Whether it ends here.
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
    /// Sums up: the first stop is what counts.
    pub fn new(service: String, hops: Vec<Hop>, crossings: Vec<Crossing>) -> Self {
        let stop = hops.iter().find(|hop| hop.stops());
        let verdict = match (stop, crossings.is_empty()) {
            (None, true) => {
                format!("{service} cannot be followed to an end: not all of it is seen")
            }
            (None, false) => format!("{service} crosses {}", told(&crossings)),
            (Some(stop), true) => format!("{service} stops {}: {}", at(stop), stop.says),
            (Some(stop), false) => format!(
                "{service} crosses {}, but stops {}: {}",
                told(&crossings),
                at(stop),
                stop.says
            ),
        };
        let advice = stop.and_then(|stop| stop.advice.clone());
        Self { service, verdict, advice, crossings, hops }
    }

    /// Whether it stops anywhere.
    pub fn stops(&self) -> bool {
        self.hops.iter().any(Hop::stops)
    }

    /// Why it stops first.
    pub fn cause(&self) -> Option<Cause> {
        self.hops.iter().find_map(|hop| hop.cause)
    }
}

fn at(hop: &Hop) -> String {
    match hop.cluster.as_str() {
        "hub" => "on the hub".to_owned(),
        "fleet" => "before it begins".to_owned(),
        member => format!("in {member}"),
    }
}

fn told(crossings: &[Crossing]) -> String {
    let one = |crossing: &Crossing| format!("from {} to {}", crossing.from.join(", "), crossing.to);
    crossings.iter().map(one).collect::<Vec<_>>().join("; ")
}
