//! Whether a kind could be read.

use std::time::Instant;

use fleet_accumulator::{SourceState, Tracked, View};
use serde::{Deserialize, Serialize};

/// Whether a kind could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KindState {
    /// All its objects were read.
    #[default]
    Read,
    /// The API server does not serve it.
    Missing,
    /// The user may not read it.
    Forbidden(String),
    /// It could not be read for another reason.
    Failed(String),
}

impl KindState {
    /// Why a kind that the API server may have was not read.
    pub(crate) fn unread(&self) -> Option<&str> {
        match self {
            Self::Read | Self::Missing => None,
            Self::Forbidden(reason) | Self::Failed(reason) => Some(reason),
        }
    }

    /// A view in this state.
    pub(crate) fn apply<T: Tracked>(&self, view: View<T>) -> View<T> {
        let since = Instant::now();
        match self {
            Self::Read => view,
            Self::Missing => view.in_state(SourceState::Missing { since }).unlisted(),
            Self::Forbidden(message) => {
                let message = message.as_str().into();
                let state = SourceState::Forbidden { since, verb: "list", message };
                view.in_state(state).unlisted()
            }
            Self::Failed(_) => view.in_state(SourceState::Listing),
        }
    }
}
