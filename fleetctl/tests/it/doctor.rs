//! The table of checks in `docs/doctor.md` is generated from that of the program.

use std::fmt::Write as _;
use std::path::Path;

use fleetctl::doctor::check::Examine;
use fleetctl::doctor::checks::CHECKS;

/// What surrounds the table.
const MARKS: [&str; 2] = ["<!-- checks -->\n", "<!-- end of checks -->\n"];

fn table() -> String {
    let mut table = "\n| check | of | looks at |\n|---|---|---|\n".to_owned();
    for check in CHECKS {
        let of = match check.examine {
            Examine::Hub(_) => "the hub",
            Examine::Member(_) => "a member",
            Examine::Participant(_) => "a member that takes part in the standard API",
        };
        writeln!(table, "| `{}` | {of} | {} |", check.name, check.looks_at).unwrap();
    }
    table.push('\n');
    table
}

/// `WRITE_DOCS=1 cargo test -p fleetctl --test it doctor` writes the table.
#[test]
fn the_table_of_checks_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/doctor.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (_, after) = rest.split_once(MARKS[1]).unwrap();
    let wanted = format!("{before}{}{}{}{after}", MARKS[0], table(), MARKS[1]);
    if std::env::var_os("WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    let how = "WRITE_DOCS=1 cargo test -p fleetctl --test it doctor";
    assert!(page == wanted, "docs/doctor.md is stale; run: {how}");
}
