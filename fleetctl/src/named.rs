//! Lists of names in text. The data formats have all of them.

/// The first names, so many at most, and how many more there are.
pub(crate) fn named<T: AsRef<str>>(names: &[T], most: usize, between: &str) -> String {
    let (first, rest) = names.split_at(names.len().min(most));
    let first = first.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(between);
    if rest.is_empty() { first } else { format!("{first} and {} more", rest.len()) }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn what_is_too_much_is_counted() {
        let names: Vec<_> = (0..1000).map(|number| format!("m{number}")).collect();
        assert_eq!(named(&names[..0], 3, ", "), "");
        assert_eq!(named(&names[..3], 3, ", "), "m0, m1, m2");
        assert_eq!(named(&names, 3, ","), "m0,m1,m2 and 997 more");
    }
}
