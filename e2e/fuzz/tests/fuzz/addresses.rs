//! Addresses of the map, which hold the state of its page: a link on another page may have any.

use fleetctl::map::Query;
use proptest::prelude::*;

use crate::memory::bounded;
use crate::mutation::text;
use crate::runner::check;

const SEEDS: &str = "corpus/addresses.txt";

const NAMES: [&str; 9] = ["q", "ns", "problems", "sel", "whatif", "at", "page", "theme", "other"];
const VALUES: [&str; 12] = [
    "member:",
    "member:east",
    "service:shop/web",
    "export:shop/web:",
    "import:shop/web:east:west",
    "lose:east",
    "drain:%20",
    "%F0%9F",
    "%00+%zz",
    "18446744073709551616",
    "7",
    "dark",
];

/// A value as browsers write it.
fn encoded() -> impl Strategy<Value = String> {
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02x}")
        }
    };
    text().prop_map(move |text| text.bytes().map(byte).collect())
}

fn fields() -> impl Strategy<Value = String> {
    let value =
        prop_oneof![3 => (0..VALUES.len()).prop_map(|at| VALUES[at].to_owned()), 2 => encoded()];
    let field =
        (0..NAMES.len(), value).prop_map(|(name, value)| format!("{}={value}", NAMES[name]));
    prop::collection::vec(field, 0..6).prop_map(|fields| fields.join("&"))
}

/// What is read of an address is written as one that is read in the same way.
#[test]
fn the_state_of_an_address_is_in_its_links() {
    check(SEEDS, 512, &fields(), |fields| {
        let Ok(address) = format!("http://map/?{fields}").parse::<http::Uri>() else {
            return Ok(());
        };
        let read = bounded(fields.len(), 64, || Query::read(&address))?;
        let Some(query) = read else { return Ok(()) };
        // Relative to the page.
        let href = query.href().replacen("./", "http://map/", 1);
        prop_assert_eq!(Query::read(&href.parse().unwrap()), Some(query), "{}", href);
        Ok(())
    });
}
