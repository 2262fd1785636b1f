//! Whether what a command prints looks like what a page shows.

/// The first line that a page shows and the command does not print, in this order. Numbers, ages and the width of columns
/// may differ.
pub(crate) fn missing<'a>(shown: &'a [String], printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines().map(shape);
    let mut missing = shown.iter().filter(|line| {
        let wanted = shape(line);
        !printed.any(|line| line == wanted)
    });
    missing.next().map(String::as_str)
}

/// The words of a line, with every number as `0`.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.split_whitespace() {
        shape.push(' ');
        for character in word.chars() {
            let character = if character.is_ascii_digit() { '0' } else { character };
            if !(character == '0' && shape.ends_with('0')) {
                shape.push(character);
            }
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_widths_do_not_matter() {
        let shown = ["NAME  AGE".to_owned(), "web   12s".to_owned()];
        assert_eq!(missing(&shown, "NAME      AGE\nother     1s\nweb       3s\n"), None);
        assert_eq!(missing(&shown, "NAME      AGE\nweb       never\n"), Some("web   12s"));
        assert_eq!(missing(&shown, "web  3s\nNAME  AGE\n"), Some("web   12s"));
    }
}
