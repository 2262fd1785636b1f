//! The words of the project: plain technical English, one word for one idea.

use crate::finding::Finding;
use crate::passages::Passage;

/// Words that are not used, and what to write instead. `_` stands between words, `*` for any ending, `0` for a number.
const WORDS: [(&[&str], &str); 16] = [
    (&["room", "rooms"], "a part of an agent is a controller"),
    (&["wish*"], "an MCS, or the decision"),
    (&["let_go", "lets_go", "letting_go"], "remove the finalizer, release"),
    (&["tell", "tells", "telling", "told"], "report, send, distinguish"),
    (&["say", "says", "saying", "said"], "contain, report, state, name"),
    (&["hear", "hears", "hearing", "heard"], "receive, observe"),
    (&["held_up", "hold_up", "holds_up"], "blocked"),
    (&["stray", "strays"], "an invalid reference"),
    (&["home", "homes", "homeless"], "its own namespace, its own cluster"),
    (&["road", "roads"], "path"),
    (&["vanish*"], "is deleted, disappears"),
    (&["good_news"], "name what is good"),
    (
        &["nobody", "whoever", "somebody"],
        "name the actor: user, member agent, hub agent, API server",
    ),
    (&["design_0*", "design_rule", "design_section*"], "docs/design/rules.md#heading"),
    (
        &["spec_0*", "spec_section*", "section_0*", "table_0*", "tables_0*"],
        "name the row or heading",
    ),
    (
        &[
            "of_the_specification",
            "reliability_S*",
            "reliability_L*",
            "reliability_M*",
            "reliability_F*",
            "reliability_C*",
        ],
        "cite the row",
    ),
];

/// Words of the list, wherever people read.
pub(crate) fn check(file: &str, passages: &[Passage]) -> Vec<Finding> {
    let split = |form: &'static str| form.split('_').collect::<Vec<_>>();
    let forms =
        WORDS.iter().flat_map(|(forms, instead)| forms.iter().map(move |form| (form, instead)));
    let forms: Vec<_> = forms.map(|(form, instead)| (form, split(form), instead)).collect();
    let mut findings = Vec::new();
    for passage in passages {
        let words = words(&passage.text);
        for (form, _, instead) in forms.iter().filter(|(_, parts, _)| occurs(parts, &words)) {
            let place = format!("{file}:{}", passage.line);
            findings.push(Finding::new("word", &place, format!("\"{form}\""), instead));
        }
    }
    findings
}

/// In lower case, but for codes.
fn words(text: &str) -> Vec<String> {
    // Names in a format string and what is in backticks are code; what a point or comma separates is no phrase.
    let text = text.split('`').step_by(2).collect::<Vec<_>>().join(" . ");
    let text = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after));
    let text = text.collect::<Vec<_>>().join(" . ").replace(['.', ',', ';', ':'], " . ");
    let words = text.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c));
    let lower = |word: &str| {
        let shouts = word.chars().all(|c| c.is_uppercase() || c.is_ascii_digit() || c == '_');
        if shouts && word.len() > 1 { word.to_owned() } else { word.to_lowercase() }
    };
    words.filter(|word| !word.is_empty()).map(lower).collect()
}

fn occurs(form: &[&str], words: &[String]) -> bool {
    let at = |at: &usize| form.iter().zip(&words[*at..]).all(|(part, word)| matches(part, word));
    let starts = 0..(words.len() + 1).saturating_sub(form.len());
    starts.filter(at).any(|at| !is_ordinary(form[0], words, at))
}

fn matches(part: &str, word: &str) -> bool {
    match part.strip_suffix('*') {
        Some("0") => word.starts_with(|c: char| c.is_ascii_digit()),
        Some(start) => word.starts_with(start),
        None => word == part,
    }
}

/// Uses that mean something else: what has room, a section of an RFC, a home directory.
fn is_ordinary(word: &str, words: &[String], at: usize) -> bool {
    let near = |distance: usize| at.checked_sub(distance).and_then(|at| words.get(at));
    let before =
        |distance, list: &[&str]| near(distance).is_some_and(|word| list.contains(&word.as_str()));
    let after = |list: &[&str]| words.get(at + 1).is_some_and(|word| list.contains(&word.as_str()));
    match word {
        "room" => before(1, &["has", "have", "no", "more", "makes", "leaves"]) || after(&["for"]),
        "section" => before(2, &["RFC"]),
        "home" => after(&["directory", "folder"]),
        _ => false,
    }
}
