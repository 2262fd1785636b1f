//! What can be wrong with the settings of a client, in one line each.

use std::error::Error;

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

/// An error and its sources in one line.
///
/// HTTP and TLS errors hide the reason (`invalid peer certificate: UnknownIssuer`) behind
/// `client error (Connect)`; other errors repeat their source in their own text. So sources are
/// added unless they are in the text already.
pub fn one_line(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let inner = error.to_string();
        if !text.contains(&inner) {
            text.push_str(": ");
            text.push_str(&inner);
        }
        source = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|source| source as _)
        }
    }

    #[test]
    fn hidden_sources_are_said_and_repeated_ones_are_not() {
        let root = Layer("UnknownIssuer", None);
        let middle = Layer("invalid peer certificate: UnknownIssuer", Some(Box::new(root)));
        let outer = Layer("client error\n(Connect)", Some(Box::new(middle)));
        assert_eq!(
            one_line(&outer),
            "client error (Connect): invalid peer certificate: UnknownIssuer"
        );
    }
}
