//! Text that others wrote, such as names that members report, as pictures take it.

/// Maximum length of a label, in characters. Names of Kubernetes have at most 253.
const MAX: usize = 300;

/// One line without characters that are not seen or that change the order of others; each becomes a replacement character.
/// Longer text is cut.
pub(super) fn plain(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .take(MAX)
        .map(|char| if is_hidden(char) { char::REPLACEMENT_CHARACTER } else { char })
}

fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Text with some characters replaced.
pub(super) fn escaped(text: &str, escape: impl Fn(char) -> Option<String>) -> String {
    plain(text).fold(String::with_capacity(text.len()), |mut escaped, char| {
        match escape(char) {
            Some(replaced) => escaped.push_str(&replaced),
            None => escaped.push(char),
        }
        escaped
    })
}
