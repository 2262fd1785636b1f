//! Small pieces of text.

use std::time::Duration;

/// Milliseconds with one decimal below a second, seconds with two above.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

/// `1 address`, `2 addresses`.
pub(super) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// Breaks text at spaces into lines of at most `width` characters; a longer word gets a line of its own.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        assert_eq!(duration(Duration::from_micros(1_234)), "1.2 ms");
        assert_eq!(duration(Duration::from_millis(3_456)), "3.46 s");
    }

    #[test]
    fn nouns_are_counted() {
        let counted = [count(0, "slice"), count(1, "address"), count(2, "address")];
        assert_eq!(counted, ["0 slices", "1 address", "2 addresses"]);
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible", 3), ["incomprehensible"]);
        assert!(wrap("", 3).is_empty());
    }
}
