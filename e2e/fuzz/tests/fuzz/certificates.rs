//! Certificates as text: what is written holds what was given, and what is read is all of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fleet_runtime::clients::{certificates_from_pem, certificates_to_pem};
use proptest::prelude::*;

use crate::memory::bounded;
use crate::runner::check;

const SEEDS: &str = "corpus/certificates.txt";
/// Is in keys that others have put beside certificates.
const SECRET: &str = "U0VDUkVUU0VDUkVU";

fn der() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..600)
}

#[test]
fn certificates_are_read_as_they_were_written() {
    check(SEEDS, 64, &prop::collection::vec(der(), 0..4), |ders| {
        let size = ders.iter().map(Vec::len).sum();
        let text = bounded(size, 16, || certificates_to_pem(&ders))?;
        let read: Vec<_> =
            pem::parse_many(&text).unwrap().into_iter().map(pem::Pem::into_contents).collect();
        // The reader knows no certificate without contents.
        let given: Vec<_> = ders.into_iter().filter(|der| !der.is_empty()).collect();
        let read: Vec<_> = read.into_iter().filter(|der| !der.is_empty()).collect();
        prop_assert_eq!(read, given);
        prop_assert!(text.lines().all(|line| line.len() <= 64));
        Ok(())
    });
}

/// Something that a file with certificates may have between two of them.
#[derive(Clone, Debug)]
enum Part {
    Certificate(Vec<u8>),
    Key,
    Text(String),
}

impl Part {
    fn text(&self, end: &str) -> String {
        let section = |label: &str, body: &str| {
            format!("-----BEGIN {label}-----{end}{body}{end}-----END {label}-----{end}")
        };
        match self {
            Self::Certificate(der) => section("CERTIFICATE", &STANDARD.encode(der)),
            Self::Key => section("PRIVATE KEY", SECRET),
            Self::Text(text) => format!("{text}{end}"),
        }
    }
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let part = prop_oneof![
        4 => der().prop_map(Part::Certificate),
        1 => Just(Part::Key),
        1 => "[ -,.-~]{0,80}".prop_map(Part::Text),
    ];
    prop::collection::vec(part, 0..5)
}

#[test]
fn all_certificates_of_a_file_are_read() {
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    check(SEEDS, 128, &(parts(), end), |(parts, end)| {
        let text: String = parts.iter().map(|part| part.text(end)).collect();
        let given: Vec<_> = parts
            .into_iter()
            .filter_map(|part| match part {
                Part::Certificate(der) => Some(der),
                Part::Key | Part::Text(_) => None,
            })
            .collect();
        let read = bounded(text.len(), 16, || certificates_from_pem(text.as_bytes()))?;
        prop_assert_eq!(read.unwrap_or_default(), given);
        Ok(())
    });
}

/// One that lost some of its text, or its line feeds, is refused, or read to the end; no error has what it might be.
#[test]
fn any_text_may_come_as_certificates() {
    let cut = any::<prop::sample::Index>();
    let edits = prop::collection::vec((cut, 0_usize..30, "[ -~\n]{0,8}"), 0..4);
    check(SEEDS, 128, &(parts(), edits, any::<bool>()), |(parts, edits, one_line)| {
        let mut text: String = parts.iter().map(|part| part.text("\n")).collect();
        for (at, length, other) in edits {
            let begin = at.index(text.len() + 1);
            let end = (begin + length).min(text.len());
            text.replace_range(begin..end, &other);
        }
        if one_line {
            text.retain(|letter| letter != '\n');
        }
        match bounded(text.len(), 16, || certificates_from_pem(text.as_bytes()))? {
            Ok(read) => {
                prop_assert!(!read.is_empty());
                let again = certificates_from_pem(certificates_to_pem(&read).as_bytes());
                prop_assert_eq!(again, Ok(read));
            }
            Err(error) => {
                prop_assert!(!error.contains(SECRET) && !error.contains('\n'), "{}", error);
                prop_assert!(error.len() < 200, "{}", error);
            }
        }
        Ok(())
    });
}
