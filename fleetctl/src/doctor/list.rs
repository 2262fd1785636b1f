//! Names in a sentence.

use crate::named::named;

/// How many names a sentence has before it only counts.
const SHOWN: usize = 3;

/// The first names, and how many more there are.
pub(super) fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| name.to_string()).collect();
    named(&names, SHOWN, ", ")
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
