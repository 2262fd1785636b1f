//! References to variables in values.

/// The text with each `$(NAME)` replaced by the value of that variable. `$$` is one sign; a reference to an unknown variable, or
/// one that does not end, stays as it is.
pub fn expand(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = one(after, &value, &mut expanded);
    }
    expanded + rest
}

/// Adds what a `$` and the text after it stand for; the text that is left.
fn one<'a>(
    after: &'a str,
    value: &impl Fn(&str) -> Option<String>,
    expanded: &mut String,
) -> &'a str {
    if let Some(rest) = after.strip_prefix('$') {
        expanded.push('$');
        return rest;
    }
    let reference = after.strip_prefix('(').and_then(|inside| inside.split_once(')'));
    let Some((name, rest)) = reference else {
        expanded.push('$');
        return after;
    };
    match value(name) {
        Some(value) => expanded.push_str(&value),
        None => expanded.extend(["$(", name, ")"]),
    }
    rest
}
