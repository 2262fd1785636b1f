//! Which addresses of its executors the Services of an origin may have, as its member policy has it. Pure.

use serde_json::{Value, json};

use super::ranges::is_open;

/// Key of a member policy with ranges of the executors that the member uses.
pub(crate) const RANGES: &str = "offload-cidrs";
/// Key of a member policy with the namespaces whose Services have addresses in these ranges; without it, all.
const NAMESPACES: &str = "offload-namespaces";
/// All namespaces.
const ALL: &str = "*";

/// A member that runs Pods of the origin, or may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Executor {
    /// The ranges of its Pods.
    pub(super) ranges: Vec<String>,
    /// Those that it had when it made its offer, if these were others.
    pub(super) earlier: Vec<String>,
    /// The namespaces whose Pods it accepts; `None` if the hub does not show that.
    pub(super) namespaces: Option<Vec<String>>,
    /// Whether Pods of the origin run there, or may: they keep the addresses that they have, whatever is offered by now.
    pub(super) runs: bool,
}

/// What the policy allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    ranges: Vec<String>,
    namespaces: Vec<String>,
}

impl Allowance {
    /// What a member policy has, by its entries.
    pub(super) fn of(data: &Value) -> Self {
        let ranges = split(data[RANGES].as_str().unwrap_or_default());
        let namespaces = match data[NAMESPACES].as_str() {
            Some(text) => split(text),
            None if ranges.is_empty() => Vec::new(),
            None => vec![ALL.to_owned()],
        };
        Self { ranges, namespaces }
    }

    /// The entries; `null` removes one.
    pub(super) fn data(&self) -> Value {
        // Ranges without namespaces hold for none; without the key they would hold for all.
        let entry = |list: &[String]| (!self.ranges.is_empty()).then(|| list.join(","));
        json!({ RANGES: entry(&self.ranges), NAMESPACES: entry(&self.namespaces) })
    }

    /// With an executor more, beside others. As long as it is not known what it offers, its ranges hold for no further namespace.
    pub(super) fn with(&self, executor: &Executor, others: &[Executor]) -> Self {
        let in_use: Vec<_> = others.iter().chain([executor]).collect();
        let mut after = self.narrowed(&in_use);
        add(&mut after.ranges, &executor.ranges);
        add(&mut after.namespaces, executor.namespaces.iter().flatten());
        after
    }

    /// Without an executor, as far as no other one needs the same.
    pub(super) fn without(&self, executor: &Executor, others: &[Executor]) -> Self {
        if others.is_empty() {
            return Self::default();
        }
        let in_use: Vec<_> = others.iter().collect();
        let mut after = self.narrowed(&in_use);
        let is_of = |range: &String, one: &Executor| {
            one.ranges.contains(range) || one.earlier.contains(range)
        };
        let is_used = |range: &String| others.iter().any(|other| is_of(range, other));
        after.ranges.retain(|range| !is_of(range, executor) || is_used(range));
        if let Some(offered) = offered(&in_use).filter(|_| is_idle(&in_use)) {
            let gone = executor.namespaces.iter().flatten().filter(|name| !offered.contains(name));
            let gone: Vec<_> = gone.collect();
            after.namespaces.retain(|name| !gone.contains(&name));
        }
        after
    }

    /// What stands for all addresses, or for all namespaces that are not all offered, gives way to what is in use, unless Pods run that
    /// may need it. Entries of administrators stay.
    fn narrowed(&self, in_use: &[&Executor]) -> Self {
        let ranges = if in_use.iter().any(|executor| executor.runs && executor.ranges.is_empty()) {
            self.ranges.clone()
        } else {
            replaced(&self.ranges, is_open, in_use.iter().flat_map(|executor| &executor.ranges))
        };
        let namespaces = match offered(in_use) {
            Some(offered) if is_idle(in_use) && !offered.iter().any(|name| *name == ALL) => {
                replaced(&self.namespaces, |name| name == ALL, offered)
            }
            _ => self.namespaces.clone(),
        };
        Self { ranges, namespaces }
    }
}

/// Whether nothing runs.
fn is_idle(executors: &[&Executor]) -> bool {
    !executors.iter().any(|executor| executor.runs)
}

/// The namespaces that executors offer, if that is known of all.
fn offered<'a>(executors: &[&'a Executor]) -> Option<Vec<&'a String>> {
    let each = executors.iter().map(|executor| executor.namespaces.as_ref());
    Some(each.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

/// A list in which other entries are in the place of these, if it has any of them.
fn replaced<'a>(
    list: &[String],
    is_one: impl Fn(&str) -> bool,
    others: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let mut kept: Vec<_> = list.iter().filter(|entry| !is_one(entry)).cloned().collect();
    if kept.len() < list.len() {
        add(&mut kept, others);
    }
    kept
}

fn add<'a>(list: &mut Vec<String>, more: impl IntoIterator<Item = &'a String>) {
    for entry in more {
        if !list.contains(entry) {
            list.push(entry.clone());
        }
    }
}

/// The entries of a list in a member policy.
pub(super) fn split(text: &str) -> Vec<String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executor(ranges: &str, namespaces: &str) -> Executor {
        let (ranges, namespaces) = (split(ranges), Some(split(namespaces)));
        Executor { ranges, namespaces, ..Executor::default() }
    }

    fn running(ranges: &str, namespaces: &str) -> Executor {
        Executor { runs: true, ..executor(ranges, namespaces) }
    }

    fn unknown(ranges: &str) -> Executor {
        Executor { namespaces: None, ..executor(ranges, "") }
    }

    fn policy(ranges: &str, namespaces: &str) -> Allowance {
        Allowance { ranges: split(ranges), namespaces: split(namespaces) }
    }

    #[test]
    fn a_policy_is_read_and_written() {
        let data = json!({ RANGES: "10.2.0.0/16, fd00::/64,", NAMESPACES: "shop, lab" });
        let allowance = Allowance::of(&data);
        assert_eq!(allowance, policy("10.2.0.0/16,fd00::/64", "shop,lab"));
        let written = json!({ RANGES: "10.2.0.0/16,fd00::/64", NAMESPACES: "shop,lab" });
        assert_eq!(allowance.data(), written);
        let none = json!({ RANGES: null, NAMESPACES: null });
        assert_eq!(Allowance::of(&json!({})).data(), none);
        assert_eq!(Allowance::of(&json!({ NAMESPACES: "lab" })).data(), none);
        let early = Allowance::of(&json!({ RANGES: "10.2.0.0/16" }));
        assert_eq!(early, policy("10.2.0.0/16", "*"), "without the key they hold for all");
    }

    #[test]
    fn an_executor_is_added_once() {
        let west = executor("10.2.0.0/16,fd00::/64", "shop");
        let once = Allowance::default().with(&west, &[]);
        assert_eq!(once, policy("10.2.0.0/16,fd00::/64", "shop"));
        assert_eq!(once.with(&west, &[]), once);
        let north = executor("10.3.0.0/16", "shop,lab");
        let both = policy("10.2.0.0/16,fd00::/64,10.3.0.0/16", "shop,lab");
        assert_eq!(once.with(&north, &[west]), both);
        let all = executor("10.2.0.0/16", "*");
        assert_eq!(Allowance::default().with(&all, &[]), policy("10.2.0.0/16", "*"));
    }

    /// An administrator who accepts before there is an offer accepts again; until then no namespace has those addresses.
    #[test]
    fn what_is_not_offered_yet_holds_for_no_namespace() {
        let early = Allowance::default().with(&unknown("10.2.0.0/16"), &[]);
        assert_eq!(early, policy("10.2.0.0/16", ""));
        assert_eq!(early.data(), json!({ RANGES: "10.2.0.0/16", NAMESPACES: "" }));
        let west = executor("10.2.0.0/16", "shop");
        assert_eq!(early.with(&west, &[]), policy("10.2.0.0/16", "shop"));
    }

    #[test]
    fn what_stands_for_all_gives_way_to_what_is_in_use() {
        let west = executor("10.2.0.0/16", "shop");
        let open = policy("0.0.0.0/0,::/0,10.9.0.0/16", "*,mine");
        let narrow = policy("10.9.0.0/16,10.2.0.0/16", "mine,shop");
        assert_eq!(open.with(&west, &[]), narrow, "entries of administrators stay");
        let north = executor("10.3.0.0/16", "lab");
        let after = policy("0.0.0.0/0", "*").with(&west, std::slice::from_ref(&north));
        assert_eq!(after, policy("10.3.0.0/16,10.2.0.0/16", "lab,shop"), "north keeps its own");
        let all = executor("10.3.0.0/16", "*");
        let after = policy("10.3.0.0/16", "*").with(&west, &[all]);
        assert_eq!(after, policy("10.3.0.0/16,10.2.0.0/16", "*,shop"), "north offers all");
        let after = policy("10.3.0.0/16", "*").with(&west, &[unknown("10.3.0.0/16")]);
        assert_eq!(after, policy("10.3.0.0/16,10.2.0.0/16", "*,shop"), "north may offer all");
        let mine = policy("10.2.4.0/24", "shop").with(&north, &[west]);
        assert_eq!(mine, policy("10.2.4.0/24,10.3.0.0/16", "shop,lab"), "nothing gets wider");
    }

    /// An offer of fewer namespaces stops no Pod.
    #[test]
    fn what_runs_keeps_its_addresses() {
        let west = running("10.2.0.0/16", "shop");
        let all = policy("10.2.0.0/16", "*");
        assert_eq!(all.with(&west, &[]), policy("10.2.0.0/16", "*,shop"));
        let north = executor("10.3.0.0/16", "lab");
        let both = policy("10.2.0.0/16,10.3.0.0/16", "shop,lab,*");
        let west = std::slice::from_ref(&west);
        assert_eq!(both.without(&north, west), policy("10.2.0.0/16", "shop,lab,*"));
        let named = policy("10.2.0.0/16,10.3.0.0/16", "shop,lab");
        assert_eq!(named.without(&north, west), policy("10.2.0.0/16", "shop,lab"));
        let open = policy("0.0.0.0/0", "shop");
        assert_eq!(open.with(&north, west), policy("10.2.0.0/16,10.3.0.0/16", "shop,lab"));
        let unknown = running("", "shop");
        let after = open.with(&north, &[unknown]);
        assert_eq!(after, policy("0.0.0.0/0,10.3.0.0/16", "shop,lab"), "it has no ranges");
    }

    #[test]
    fn an_executor_takes_along_the_ranges_that_it_had() {
        let earlier = split("10.2.0.0/16");
        let west = Executor { earlier, ..executor("10.4.0.0/16", "shop") };
        let north = executor("10.3.0.0/16", "shop");
        let before = policy("10.2.0.0/16,10.3.0.0/16,10.4.0.0/16", "shop");
        assert_eq!(before.without(&west, &[north]), policy("10.3.0.0/16", "shop"));
    }

    #[test]
    fn an_executor_takes_along_what_no_other_one_needs() {
        let (west, north) = (executor("10.2.0.0/16", "shop,lab"), executor("10.3.0.0/16", "lab"));
        let both = policy("10.2.0.0/16,10.3.0.0/16", "shop,lab");
        let alone = std::slice::from_ref(&north);
        assert_eq!(both.without(&west, alone), policy("10.3.0.0/16", "lab"));
        assert_eq!(both.without(&west, &[]), Allowance::default(), "nothing is used any more");
        let shared = executor("10.2.0.0/16", "lab");
        assert_eq!(both.without(&west, &[shared, north.clone()]).ranges, both.ranges);
        let unknown = [unknown("10.3.0.0/16")];
        assert_eq!(both.without(&west, &unknown), policy("10.3.0.0/16", "shop,lab"));
        let open = policy("0.0.0.0/0,::/0", "*");
        assert_eq!(open.without(&west, &[north]), policy("10.3.0.0/16", "lab"));
    }
}
