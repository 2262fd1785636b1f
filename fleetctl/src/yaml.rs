//! YAML.
//!
//! Errors name the place and not the text around it, as they would by default: a file that is named by mistake may be a kubeconfig or a
//! Secret.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{
    Error, SerializeError, from_multiple_with_options, from_str_with_options, options, to_string,
};

/// Writes a document.
pub(crate) fn write<T: Serialize>(value: &T) -> Result<String, SerializeError> {
    to_string(value)
}

/// Reads one document.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_str_with_options(text, options! { with_snippet: false })
}

/// Reads all documents.
pub(crate) fn read_all<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    from_multiple_with_options(text, options! { with_snippet: false })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_error_has_the_place_and_not_the_text() {
        let text = "users:\n- name: me\n  user: { token: s3cret }\n  user: [s3cret]\n";
        let errors = [read::<Value>(text).unwrap_err(), read_all::<Value>(text).unwrap_err()];
        for error in errors {
            let error = error.to_string();
            assert!(error.contains("line 4") && !error.contains("s3cret"), "{error}");
        }
    }
}
