//! Texts of errors.

use std::error::Error;

use kube::client::AuthError;
use kube::config::KubeconfigError;

/// An error and its sources in one line.
///
/// HTTP and TLS errors hide the reason (`invalid peer certificate: UnknownIssuer`) behind `client error (Connect)`; other
/// errors repeat their source in their own text. So a source is added unless the text contains it already.
///
/// Errors that quote credentials are replaced.
pub fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = Some(error);
    while let Some(error) = source {
        if let Some((quote, instead)) = quotes_credentials(error) {
            return text.replace(&quote, &instead).split_whitespace().collect::<Vec<_>>().join(" ");
        }
        let cause = error.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What an error quotes of a kubeconfig or of the output of its plugin, and a text without that.
fn quotes_credentials(error: &(dyn Error + 'static)) -> Option<(String, String)> {
    let invalid = |line: Option<u64>| {
        let place = line.map(|line| format!(" in line {line}"));
        format!("invalid YAML{}", place.unwrap_or_default())
    };
    let said = |instead| Some((error.to_string(), instead));
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(KubeconfigError::Parse(why)), _) => {
            said(format!("this is no kubeconfig: {}", invalid(why.location().map(|at| at.line()))))
        }
        (_, Some(AuthError::AuthExecRun { out, .. })) => {
            said(format!("the plugin for credentials failed: {}", out.status))
        }
        (_, Some(AuthError::AuthExecParse(why))) => {
            let line = why.location().map(|at| at.line());
            said(format!("the plugin for credentials has an unreadable output: {}", invalid(line)))
        }
        _ => None,
    }
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

    /// The parser quotes the lines around the error, where tokens are.
    #[test]
    fn what_a_kubeconfig_contains_is_not_quoted() {
        let text = "users:\n- name: me\n  user: { token: s3cret }\n  user: [s3cret]\n";
        let error = kube::config::Kubeconfig::from_yaml(text).unwrap_err();
        assert!(error.to_string().contains("s3cret"), "{error}");
        let said = one_line(&error);
        assert!(!said.contains("s3cret"), "{said}");
        assert!(said.contains("no kubeconfig: invalid YAML in line"), "{said}");
    }

    /// A plugin that fails may have printed the credentials.
    #[test]
    fn what_a_plugin_prints_is_not_quoted() {
        let command = std::process::Command::new("sh").args(["-c", "echo s3cret; exit 3"]).output();
        let out = Box::new(command.unwrap());
        let error = AuthError::AuthExecRun { cmd: "plugin".to_owned(), out };
        let error = kube::Error::Service(Box::new(kube::Error::Auth(error)));
        assert!(error.to_string().contains("s3cret"), "{error}");
        let said = one_line(&error);
        assert!(!said.contains("s3cret"), "{said}");
        assert!(said.contains("the plugin for credentials failed: exit status: 3"), "{said}");
    }

    #[test]
    fn a_source_that_the_error_repeats_is_not_added() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "port 1 is shut");
        let error = kube::Error::ReadEvents(io::Error::other(refused));
        let text = one_line(&error);
        assert_eq!(text.matches("port 1 is shut").count(), 1, "{text}");
    }
}
