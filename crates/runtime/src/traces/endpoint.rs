//! Where traces are sent.

use http::Uri;
use http::uri::PathAndQuery;

/// The base address of an OTLP receiver that speaks HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Uri);

/// A text that is no [`Endpoint`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--otlp-endpoint: {text:?} {reason}; it takes the form http://collector:4318 or https://..., to which /v1/traces is added"
)]
pub struct BadEndpoint {
    text: String,
    reason: String,
}

impl Endpoint {
    /// Reads an address; `None` if the text is empty, which is how the variable of OpenTelemetry turns itself off.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Option<Self>, BadEndpoint> {
        let text = text.trim();
        let bad = |reason: String| BadEndpoint { text: text.to_owned(), reason };
        if text.is_empty() {
            return Ok(None);
        }
        let uri: Uri = text.parse().map_err(|error| bad(format!("is no address ({error})")))?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            Err(bad("does not begin with http:// or https://".to_owned()))
        } else if authority.contains('@') {
            // It would be in the log, and not be sent.
            let reason = "names a user; OTEL_EXPORTER_OTLP_HEADERS takes credentials";
            Err(BadEndpoint { text: text.replace(authority, "..."), reason: reason.to_owned() })
        } else if uri.query().is_some() {
            Err(bad("has a query".to_owned()))
        } else {
            Ok(Some(Self(uri)))
        }
    }

    /// The address without its path.
    pub(super) fn server(&self) -> Uri {
        let mut parts = self.0.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        Uri::from_parts(parts).expect("another path leaves an address what it is")
    }

    /// Where spans go.
    pub(super) fn traces(&self) -> String {
        format!("{}/v1/traces", self.0.to_string().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Endpoint::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn spans_go_to_a_path_below_the_base() {
        for (base, traces) in [
            ("http://collector:4318", "http://collector:4318/v1/traces"),
            ("https://collector/", "https://collector/v1/traces"),
            (" https://collector/tenant/ ", "https://collector/tenant/v1/traces"),
        ] {
            assert_eq!(Endpoint::parse(base).unwrap().unwrap().traces(), traces);
        }
    }

    #[test]
    fn no_text_is_no_endpoint() {
        assert_eq!(Endpoint::parse(" "), Ok(None));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_form_of_one() {
        for text in ["collector:4318", "grpc://collector:4317", "http://", "/v1", "http://a?b=c"] {
            let error = refused(text);
            assert!(
                error.starts_with("--otlp-endpoint: ") && error.contains("http://collector:4318"),
                "{error}"
            );
        }
    }

    #[test]
    fn credentials_in_an_address_are_refused_and_not_repeated() {
        let error = refused("https://me:secret@collector:4318");
        assert!(
            error.contains("OTEL_EXPORTER_OTLP_HEADERS") && !error.contains("secret"),
            "{error}"
        );
    }
}
