//! Texts of errors.

use std::error::Error;

/// An error and its sources in one line.
///
/// HTTP and TLS errors hide the reason (`invalid peer certificate: UnknownIssuer`) behind `client error (Connect)`; other
/// errors repeat their source in their own text. So a source is added unless the text contains it already.
pub fn one_line(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::io;

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
    fn a_hidden_source_is_added() {
        let root = Layer("UnknownIssuer", None);
        let middle = Layer("invalid peer certificate: UnknownIssuer", Some(Box::new(root)));
        let outer = Layer("client error\n(Connect)", Some(Box::new(middle)));
        assert_eq!(
            one_line(&outer),
            "client error (Connect): invalid peer certificate: UnknownIssuer"
        );
    }

    #[test]
    fn a_source_that_the_error_repeats_is_not_added() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "port 1 is shut");
        let error = kube::Error::ReadEvents(io::Error::other(refused));
        let text = one_line(&error);
        assert_eq!(text.matches("port 1 is shut").count(), 1, "{text}");
    }
}
