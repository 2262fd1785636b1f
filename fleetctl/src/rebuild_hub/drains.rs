//! Drains that importers apply, from what they note in the Leases of their agents. Pure.
//!
//! An administrator of a member can write any drain into such a Lease. So names are checked before a command has them, and who claims it is named.

use std::collections::BTreeMap;

use fleet_api::ObjectName;
use fleet_api::names::is_dns1123_label;
use fleet_api::traffic::ALL_SERVICES;
use serde::Deserialize;

use crate::member_objects::check_name;

/// How much of a name that is not valid is shown.
const SHOWN: usize = 60;

/// Who applies a drain, and how many percent of it.
pub(super) type Claims = BTreeMap<String, i64>;

/// The part of what agents note about drains that matters.
#[derive(Deserialize)]
struct Noted {
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    service: String,
    percent: i64,
}

/// Drains by member and Service.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drains(BTreeMap<String, BTreeMap<String, Claims>>);

impl Drains {
    /// Adds those that an importer notes. Returns why some are left out.
    ///
    /// # Errors
    /// If the text is not one that agents write.
    pub(super) fn add(
        &mut self,
        importer: &str,
        noted: &str,
    ) -> serde_json::Result<Option<String>> {
        let noted: BTreeMap<String, Noted> = serde_json::from_str(noted)?;
        let entries = noted.iter().flat_map(|(member, noted)| {
            noted.entries.iter().map(move |entry| (member.as_str(), entry))
        });
        let (mut invalid, mut first) = (0, "");
        for (member, entry) in entries.filter(|(_, entry)| entry.percent > 0) {
            let wrong = [(member, is_member(member)), (&entry.service, is_service(&entry.service))];
            if let Some((name, _)) = wrong.into_iter().find(|(_, is_valid)| !is_valid) {
                first = if invalid == 0 { name } else { first };
                invalid += 1;
                continue;
            }
            let services = self.0.entry(member.to_owned()).or_default();
            let claims = services.entry(entry.service.clone()).or_default();
            claims.insert(importer.to_owned(), entry.percent.min(100));
        }
        Ok((invalid > 0).then(|| {
            let first: String = first.chars().take(SHOWN).collect();
            format!("{invalid} drains that it notes have no valid name, such as {first:?}")
        }))
    }

    /// Members, with the Services that have the same claims.
    pub(super) fn by_claims(&self) -> Vec<(&str, &Claims, Vec<&str>)> {
        let mut all = Vec::new();
        for (member, services) in &self.0 {
            let mut alike: BTreeMap<&Claims, Vec<&str>> = BTreeMap::new();
            let (whole, single): (Vec<_>, Vec<_>) =
                services.iter().partition(|(service, _)| *service == ALL_SERVICES);
            for (service, claims) in single {
                alike.entry(claims).or_default().push(service);
            }
            all.extend(whole.into_iter().map(|(_, claims)| (member.as_str(), claims, Vec::new())));
            all.extend(
                alike.into_iter().map(|(claims, services)| (member.as_str(), claims, services)),
            );
        }
        all
    }
}

fn is_member(name: &str) -> bool {
    check_name(name).is_ok()
}

fn is_service(text: &str) -> bool {
    let is_name =
        |name: ObjectName| [name.namespace, name.name].iter().all(|it| is_dns1123_label(it));
    text == ALL_SERVICES || ObjectName::parse(text).is_some_and(is_name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(service: &str, percent: i64) -> Value {
        json!({ "service": service, "percent": percent, "reason": "Drained" })
    }

    fn noted(drains: &Value) -> String {
        let note =
            |entries: &Value| json!({ "uid": "u", "serial": 3, "held": [], "entries": entries });
        let notes = drains.as_object().unwrap().iter();
        notes.map(|(member, entries)| (member, note(entries))).collect::<Value>().to_string()
    }

    #[test]
    fn drains_are_read_from_what_agents_note() {
        let mut found = Drains::default();
        let east = json!({ "east": [entry("*", 100), entry("shop/web", 0)], "north": [] });
        assert_eq!(found.add("west", &noted(&east)).unwrap(), None);
        let east =
            json!({ "east": [entry("*", 100), entry("shop/api", 30), entry("shop/db", 30)] });
        assert_eq!(found.add("south", &noted(&east)).unwrap(), None);
        let [both, one] = [vec![("south", 100), ("west", 100)], vec![("south", 30)]]
            .map(|claims| claims.into_iter().map(|(name, at)| (name.to_owned(), at)).collect());
        let expected = [("east", &both, vec![]), ("east", &one, vec!["shop/api", "shop/db"])];
        assert_eq!(found.by_claims(), expected);
        assert!(found.add("west", "{").is_err());
    }

    /// A member that is hostile notes them.
    #[test]
    fn what_a_command_would_take_for_an_option_is_left_out() {
        let long = "x".repeat(100_000);
        for (member, service) in [
            ("--hub-context=x", "*"),
            ("east\nfleetctl leave east", "*"),
            ("", "*"),
            ("east", "--force"),
            ("east", "--hub-context=x/y"),
            ("east", "shop/--force"),
            ("east", "shop/web; id"),
            ("east", &long),
        ] {
            let mut found = Drains::default();
            let left_out = found.add("west", &noted(&json!({ member: [entry(service, 100)] })));
            let left_out = left_out.unwrap().unwrap();
            assert!(left_out.starts_with("1 drains") && left_out.len() < 200, "{left_out}");
            assert_eq!(found, Drains::default());
        }
    }

    #[test]
    fn percents_are_those_of_a_whole() {
        let mut found = Drains::default();
        found.add("west", &noted(&json!({ "east": [entry("*", i64::MAX)] }))).unwrap();
        assert_eq!(found.by_claims()[0].1["west"], 100);
    }
}
