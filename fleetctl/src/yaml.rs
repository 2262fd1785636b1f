//! YAML.
//!
//! Errors name the place and not the text around it, as they would by default: a file that is named by mistake may be a kubeconfig or a
//! Secret. And what a few lines of aliases of aliases may become is bounded by the length of the text.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{
    Error, Options, SerializeError, alias_limits, budget, from_multiple_with_options,
    from_str_with_options, options, to_string,
};

/// What aliases may repeat in any text, in events of the parser: values, and the ends of lists and maps.
const REPEATED: usize = 4096;
/// What all values may have together, in bytes, and how many for each byte of the text.
const SCALARS: (usize, usize) = (64 << 10, 4);

/// Writes a document.
pub(crate) fn write<T: Serialize>(value: &T) -> Result<String, SerializeError> {
    to_string(value)
}

/// Reads one document.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_str_with_options(text, options_for(text))
}

/// Reads all documents.
pub(crate) fn read_all<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    from_multiple_with_options(text, options_for(text))
}

fn options_for(text: &str) -> Options {
    let aliases = alias_limits! { max_total_replayed_events: text.len() + REPEATED };
    let scalars = budget! { max_total_scalar_bytes: SCALARS.0 + SCALARS.1 * text.len() };
    options! { with_snippet: false, alias_limits: aliases, budget: scalars }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Found by chance, in the configuration of a kube-proxy.
    #[test]
    fn aliases_of_aliases_are_refused_before_they_are_large() {
        let level = |level: u8| {
            let below = format!("*a{}", level - 1);
            format!("a{level}: &a{level} [{}]\n", [&*below; 8].join(", "))
        };
        let first = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
        let text: String = std::iter::once(first).chain((1..9).map(level)).collect();
        let error = read::<Value>(&text).unwrap_err().to_string();
        assert!(error.contains("alias"), "{error}");
        assert!(read_all::<Value>(&text).is_err());
        let long =
            format!("a: &a {}\nb: [{}]\n", "x".repeat(32 << 10), vec!["*a"; 2000].join(", "));
        assert!(read::<Value>(&long).is_err());
        let few = "a: &a {x: 1, y: [2, 3]}\nb: [*a, *a, *a]\nc: {<<: *a}\n";
        assert_eq!(read::<Value>(few).unwrap()["b"][2]["y"][1], 3);
    }

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
