//! Texts of bounded length.

/// The start of `text`, at most `limit` bytes, without a part of a character.
pub fn truncate(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_between_characters() {
        assert_eq!(truncate("für", 1), "f");
        assert_eq!(truncate("für", 2), "f");
        assert_eq!(truncate("für", 3), "fü");
        assert_eq!(truncate("für", 10), "für");
    }
}
