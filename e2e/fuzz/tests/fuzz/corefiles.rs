//! The configuration of CoreDNS, which `fleetctl doctor` reads and prints with what it lacks.

use fleetctl::doctor::corefile::{Corefile, Flaw, words};
use proptest::prelude::*;

use crate::memory::bounded;
use crate::mutation::text;
use crate::runner::check;

const SEEDS: &str = "corpus/corefiles.txt";

const WORDS: [&str; 27] = [
    "{",
    "{",
    "{",
    "}",
    "}",
    "}",
    "kubernetes",
    "kubernetes",
    "multicluster",
    "clusterset.local",
    "clusterset.local.:53,.:53",
    "cluster.local",
    "local:53",
    ".:53",
    "dns://.",
    "tls://clusterset.local",
    "(snippet)",
    "import",
    "forward",
    "ignore",
    "empty_service",
    "labels",
    "\"a \\\" b",
    "\"a\n b\"",
    "a#hidden",
    "{#hidden",
    "# not read",
];

/// Words as a Corefile has them, in lines or not, and others.
fn corefile() -> impl Strategy<Value = String> {
    let word = prop_oneof![8 => (0..WORDS.len()).prop_map(|at| WORDS[at].to_owned()), 1 => text()];
    let blank =
        prop_oneof![3 => Just(" "), 3 => Just("\n"), 1 => Just("\n    "), 1 => Just("\u{2028}\t")];
    prop::collection::vec((word, blank), 0..24).prop_map(|words| {
        words.into_iter().flat_map(|(word, blank)| [word, blank.to_owned()]).collect()
    })
}

/// What is printed has all that was there, and lacks nothing that could be put in.
#[test]
fn a_corefile_that_is_mended_lacks_nothing() {
    check(SEEDS, 512, &corefile(), |text| {
        let text = &*text;
        let Ok(read) = bounded(text.len(), 256, || Corefile::parse(text))? else { return Ok(()) };
        let (flaws, _, _) = (read.flaws(), read.imports(), read.forwards_clusterset());
        let Some(mended) = read.with_clusterset() else {
            prop_assert!(flaws.contains(&Flaw::NoServer) || flaws.contains(&Flaw::NoPlugin));
            return Ok(());
        };
        let (mut now, all) = (words(&mended).into_iter(), words(text));
        let lost = all.into_iter().find(|word| !now.any(|it| it == *word));
        prop_assert_eq!(lost, None, "{} became {}", text, mended);
        let again = Corefile::parse(&mended);
        let left = again.map(|again| again.flaws()).map_err(|error| error.to_string());
        let still: Vec<_> = flaws
            .iter()
            .filter(|flaw| !matches!(flaw, Flaw::NoZone | Flaw::NoOption))
            .copied()
            .collect();
        prop_assert_eq!(left, Ok(still), "{} became {}", text, mended);
        Ok(())
    });
}
