//! Names in a sentence.

/// How many names a sentence has before it only counts.
const SHOWN: usize = 3;

/// The first names, and how many more there are.
pub(super) fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| name.to_string()).collect();
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_three_names() {
        assert_eq!(list(["a"]), "a");
        assert_eq!(list(["a", "b", "c"]), "a, b, c");
        assert_eq!(list(["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
        assert_eq!(list(Vec::<String>::new()), "");
    }
}
