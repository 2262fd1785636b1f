//! The licences of dependencies that are not allowed to all are known to readers of the first page.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

use std::fs;
use std::path::Path;

#[test]
fn the_first_page_names_every_exception() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        fs::read_to_string(path).unwrap()
    };
    let (rules, page) = (read("deny.toml"), read("README.md"));
    let licences = page.split("\n## Licence\n").nth(1).unwrap();
    let exceptions = rules.split("\nexceptions = [\n").nth(1).unwrap().split("\n]").next().unwrap();
    assert!(exceptions.lines().count() > 0);
    for line in exceptions.lines() {
        // { crate = "imbl", allow = ["MPL-2.0"] },
        let texts: Vec<_> = line.split('"').skip(1).step_by(2).collect();
        let [name, licence] = texts[..] else { unreachable!("{line}: one crate with one licence") };
        assert!(licences.contains(&format!("`{name}`")), "{name}");
        assert!(licences.contains(licence), "{licence}");
    }
}
