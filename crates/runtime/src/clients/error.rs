//! What can be wrong with the settings of a client, in one line each.

/// Why there is no client, or no server behind it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// A required environment variable is not there.
    #[error("{variable} is not set")]
    Missing {
        /// Its name.
        variable: &'static str,
    },
    /// An environment variable holds something unusable.
    #[error("{variable}: {reason}")]
    Invalid {
        /// Its name.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Two settings of which one is enough.
    #[error("{variable} and {other} are both set: take one")]
    Twice {
        /// One.
        variable: &'static str,
        /// The other.
        other: &'static str,
    },
    /// No own cluster was found.
    #[error("no cluster: set KUBECONFIG or run in a Pod ({reason})")]
    NoCluster {
        /// Error of the last place.
        reason: String,
    },
    /// A client could not be built.
    #[error("cannot use the settings of the {cluster} cluster: {reason}")]
    Settings {
        /// Which cluster.
        cluster: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The server does not answer, or not to us.
    #[error("cannot talk to {url}: {reason}")]
    Unreachable {
        /// Its address.
        url: String,
        /// The innermost reason.
        reason: String,
    },
}
