//! Texts of annotations, flags and policies: what is read is written so that it is read the same.

use fleet_api::ServiceInUseBy;
use fleet_api::{ObjectName, TraceContext};
use fleet_model::cidr::{Cidr, Cidrs};
use fleet_model::denied_namespaces::DeniedNamespaces;
use fleet_model::multicluster::mode::Mode;
use fleet_model::weight;
use fleet_runtime::credential::SecretKey;
use fleet_virtual_node::node::Amount;
use member_agent::{AllowedReservedCidrs, ImportNamespaces};
use proptest::prelude::*;
use serde_json::Value;

use crate::memory::bounded;
use crate::mutation::text;
use crate::runner::check;

const SEEDS: &str = "corpus/texts.txt";

/// A text is read, written and read again.
fn again<T: PartialEq + std::fmt::Debug>(
    text: &str,
    read: impl Fn(&str) -> Option<T>,
    write: impl Fn(&T) -> String,
) -> Result<(), TestCaseError> {
    let Some(first) = bounded(text.len(), 64, || read(text))? else { return Ok(()) };
    let written = write(&first);
    prop_assert_eq!(read(&written), Some(first), "{:?} was written as {:?}", text, written);
    Ok(())
}

/// Several texts with commas, as lists have them.
fn list() -> impl Strategy<Value = String> {
    prop::collection::vec(text(), 0..4).prop_map(|all| all.join(","))
}

#[test]
fn what_is_read_is_written_the_same() {
    let range =
        (any::<std::net::IpAddr>(), 0_u8..=130).prop_map(|(ip, bits)| format!("{ip}/{bits}"));
    let amount = "[0-9]{1,16}(\\.[0-9]{0,16})?(e-?[0-9]{1,2}|E|Ei|Ki|Mi|m|n|u|k)?";
    let texts = prop_oneof![3 => list(), 1 => range, 1 => amount];
    check(SEEDS, 256, &texts, |text| {
        let text = &*text;
        again(text, ObjectName::parse, ObjectName::to_string)?;
        again(text, TraceContext::parse, TraceContext::to_string)?;
        again(text, |text| weight::parse(Some(text)).ok(), u16::to_string)?;
        again(text, |text| text.parse::<Cidr>().ok(), Cidr::to_string)?;
        again(text, |text| text.parse::<Cidrs>().ok(), Cidrs::to_string)?;
        again(text, |text| text.parse::<Mode>().ok(), |mode| mode.as_str().to_owned())?;
        again(text, |text| text.parse::<SecretKey>().ok(), SecretKey::to_string)?;
        again(text, |text| text.parse::<ImportNamespaces>().ok(), ImportNamespaces::to_string)?;
        again(text, |text| text.parse::<DeniedNamespaces>().ok(), DeniedNamespaces::to_string)?;
        let reserved = |text: &str| text.parse::<AllowedReservedCidrs>().ok();
        again(text, reserved, AllowedReservedCidrs::to_string)?;
        let duration = |text: &str| fleet_runtime::args::duration(text).ok();
        again(text, duration, |it| format!("{}s {}ns", it.as_secs(), it.subsec_nanos()))
    });
}

/// Amounts are compared and added: an order that a text does not have would be a free lunch.
#[test]
fn an_amount_is_what_its_text_is() {
    let amounts = ("[0-9]{1,9}", "[0-9]{0,6}", 0_usize..14);
    check(SEEDS, 256, &amounts, |(whole, part, unit)| {
        const UNITS: [(&str, u32, u32); 14] = [
            ("", 10, 0),
            ("m", 10, 0),
            ("k", 10, 3),
            ("M", 10, 6),
            ("G", 10, 9),
            ("T", 10, 12),
            ("P", 10, 15),
            ("E", 10, 18),
            ("Ki", 2, 10),
            ("Mi", 2, 20),
            ("Gi", 2, 30),
            ("Ti", 2, 40),
            ("Pi", 2, 50),
            ("Ei", 2, 60),
        ];
        let (suffix, base, power) = UNITS[unit];
        let dotted = if part.is_empty() { whole.clone() } else { format!("{whole}.{part}") };
        let text = format!("{dotted}{suffix}");
        // In thousandths, rounded up.
        let digits: u128 = format!("{whole}{part}").parse().unwrap();
        let scale = 10_u128.pow(u32::try_from(part.len()).unwrap());
        let factor = u128::from(base).pow(power) * if suffix == "m" { 1 } else { 1000 };
        let expected = (digits * factor).div_ceil(scale);
        let read = Amount::parse(&text).map(|amount| amount.to_string());
        let exact = if expected.is_multiple_of(1000) {
            (expected / 1000).to_string()
        } else {
            format!("{expected}m")
        };
        prop_assert_eq!(read, Some(exact), "{}", text);
        Ok(())
    });
}

/// The list of importers is an annotation that members and the original's agents write, too.
#[test]
fn claims_are_read_as_they_were_written() {
    let members = prop::collection::btree_map(text(), text(), 0..6);
    let claims = prop_oneof![
        members.prop_map(|all| all.into_iter().collect::<ServiceInUseBy>().to_annotation()),
        text(),
    ];
    check(SEEDS, 256, &(claims, any::<usize>()), |(mut claims, cut)| {
        let whole = ServiceInUseBy::parse(Some(&claims));
        if let Ok(read) = &whole {
            let written = read.to_annotation();
            prop_assert_eq!(&ServiceInUseBy::parse(Some(&written)), &whole);
            let is_escaped = !written.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(is_escaped, "{}", written);
        }
        // Half of a list is no list of half of the members: who is not on it loses its import.
        let cut = claims.char_indices().map(|(at, _)| at).nth(cut % (claims.len() + 1));
        claims.truncate(cut.unwrap_or(claims.len()));
        if let Ok(half) = bounded(claims.len(), 64, || ServiceInUseBy::parse(Some(&claims)))? {
            let is_whole = serde_json::from_str::<Value>(&claims).is_ok();
            prop_assert!(is_whole || half.is_empty() && claims.trim().is_empty(), "{}", claims);
        }
        Ok(())
    });
}
