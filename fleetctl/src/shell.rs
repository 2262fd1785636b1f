//! Commands for users to copy.

use std::borrow::Cow;

/// A word as a shell has to be given it. Contexts of a kubeconfig can have any name.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

/// How to call kubectl for the cluster of a context.
pub(crate) fn kubectl(context: &str) -> String {
    format!("kubectl --context {}", quoted(context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        for plain in ["west", "arn:aws:eks:eu-1:1:cluster/a", "user@kind-west"] {
            assert_eq!(quoted(plain), plain);
        }
        assert_eq!(quoted(""), "''");
        assert_eq!(kubectl("my west; rm -r x"), "kubectl --context 'my west; rm -r x'");
        assert_eq!(quoted("it's $(id)"), r"'it'\''s $(id)'");
    }
}
