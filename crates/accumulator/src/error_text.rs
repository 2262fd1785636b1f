//! Texts of errors.

use std::error::Error;

use kube::client::AuthError;
use kube::config::{KubeconfigError, LoadDataError};
use pem::PemError;
use rustls::pki_types::pem::Error as SectionError;

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
        let instead = without_credentials(error);
        let cause = error.to_string();
        let is_repeated = text.contains(&cause);
        if let Some(instead) = &instead {
            text = text.replace(&cause, instead);
        }
        if !is_repeated {
            text.push_str(": ");
            text.push_str(instead.as_ref().unwrap_or(&cause));
        }
        // Its own sources quote the same.
        source = error.source().filter(|_| instead.is_none());
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Another text for an error that quotes a kubeconfig, PEM or the output of a plugin.
fn without_credentials(error: &(dyn Error + 'static)) -> Option<String> {
    kubeconfig(error).or_else(|| path(error)).or_else(|| plugin(error)).or_else(|| pem(error))
}

fn kubeconfig(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref()? {
        KubeconfigError::Parse(why) => {
            let invalid = invalid_yaml(why.location().map(|at| at.line()));
            Some(format!("this is no kubeconfig: {invalid}"))
        }
        _ => None,
    }
}

/// The name of the field, which the error has, does for users who wrote a path there; others have written the key.
fn path(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref()? {
        LoadDataError::ReadFile(why, _) => {
            Some(format!("the file that is named cannot be read: {why}"))
        }
        _ => None,
    }
}

fn plugin(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref()? {
        AuthError::AuthExecRun { out, .. } => {
            Some(format!("the plugin for credentials failed: {}", out.status))
        }
        AuthError::AuthExecParse(why) => {
            let invalid = invalid_yaml(why.location().map(|at| at.line()));
            Some(format!("the plugin for credentials has an unreadable output: {invalid}"))
        }
        _ => None,
    }
}

fn invalid_yaml(line: Option<u64>) -> String {
    let place = line.map(|line| format!(" in line {line}"));
    format!("invalid YAML{}", place.unwrap_or_default())
}

/// Of the two libraries that read PEM. Where line feeds were lost, a line is all of a key.
fn pem(error: &(dyn Error + 'static)) -> Option<String> {
    let reason = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(SectionError::MissingSectionEnd { .. }), _) => "a section does not end",
        (Some(SectionError::IllegalSectionStart { .. }), _) => {
            "a line begins a section and has more in it"
        }
        (_, Some(PemError::MismatchedTags(..))) => "a section ends as another one",
        (_, Some(PemError::InvalidHeader(_))) => "a section has a header that cannot be read",
        _ => return None,
    };
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::io;

    use kube::client::RustlsTlsError;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<dyn Error>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref()
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

    /// `client-key` where `client-key-data` was meant.
    #[test]
    fn a_key_that_stands_for_a_path_is_not_quoted() {
        let why = io::Error::other("File name too long");
        let error = LoadDataError::ReadFile(why, "/etc/hub/s3cret".into());
        let error = KubeconfigError::LoadCertificateAuthority(error);
        assert!(error.to_string().contains("s3cret"), "{error}");
        let said = one_line(&kube::Error::Service(Box::new(error)));
        assert!(said.contains("certificate authority") && !said.contains("s3cret"), "{said}");
        assert!(said.ends_with("cannot be read: File name too long"), "{said}");
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

    /// As variables and templates often have it. One library quotes bytes, which are a list of numbers then.
    #[test]
    fn what_pem_contains_is_not_quoted() {
        let text = "-----BEGIN PRIVATE KEY-----s3cret-----END PRIVATE KEY-----";
        let bytes = format!("{:?}", b"s3cret").trim_matches(['[', ']']).to_owned();
        let error = PrivateKeyDer::from_pem_slice(text.as_bytes()).unwrap_err();
        let error = RustlsTlsError::InvalidIdentityPem(error);
        assert!(error.to_string().contains(&bytes), "{error}");
        let error = Layer("no client", Some(Box::new(error)));
        assert_eq!(one_line(&error), "no client: identity PEM is invalid: a section does not end");
        let text = "-----BEGIN X-----\ns3cret\n\nAA==\n-----END X-----\n";
        let error = KubeconfigError::ParseCertificates(pem::parse(text).unwrap_err());
        assert!(error.to_string().contains("s3cret"), "{error}");
        let said = one_line(&error);
        assert!(
            said.ends_with("certificates: a section has a header that cannot be read"),
            "{said}"
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
