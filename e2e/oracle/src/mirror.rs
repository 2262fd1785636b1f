//! The fleet's objects as the watches of an [`Observer`] show them, and what they come to: their normal form.
//!
//! Two runs of one story differ in names, uids, versions and times. In normal form they do not, so that the outcome of
//! a disturbed run can be compared with that of an undisturbed one.

mod normal;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use fleet_testbed::fleet::Fleet;
use fleet_testbed::objects::Found;
use fleet_testbed::observer::{Observation, Observer, What};

pub use normal::NAME;

/// Objects in normal form by cluster, kind and name.
pub type Normal = BTreeMap<String, Value>;

/// What all clusters hold, as far as it has appeared or changed since the start.
#[derive(Debug)]
pub struct Mirror {
    observer: Observer,
    objects: BTreeMap<(String, &'static str, String), Reflection>,
}

#[derive(Debug)]
struct Reflection {
    found: Found,
    /// The object as JSON, to look for names in.
    text: String,
}

impl Mirror {
    /// Starts to watch all clusters.
    pub async fn start(fleet: &Fleet) -> Result<Self> {
        Ok(Self { observer: Observer::start(fleet).await?, objects: BTreeMap::new() })
    }

    /// Everything that mentions `name`, which must not occur within other words, in normal form: `name` is replaced,
    /// and what no two runs share is masked.
    pub fn normal(&self, name: &str) -> Normal {
        let meant = self.objects.values().filter(|one| one.text.contains(name));
        meant.map(|one| normal::form(&one.found, name)).collect()
    }

    /// Everything that mentions `name`, with its place in normal form.
    pub fn objects(&self, name: &str) -> impl Iterator<Item = (String, &Found)> {
        let meant = self.objects.values().filter(move |one| one.text.contains(name));
        meant.map(move |one| (normal::place(&one.found, name), &one.found))
    }

    /// Takes an event in; returns it as text.
    fn reflect(&mut self, observation: Observation) -> String {
        let name = observation.name();
        let Observation { cluster, kind, what, object, .. } = observation;
        let text = serde_json::to_string(&object).unwrap_or_default();
        let key = (cluster.clone(), kind.kind, name);
        if what == What::Gone {
            self.objects.remove(&key);
        } else {
            let found = Found { cluster, kind, object };
            self.objects.insert(key, Reflection { found, text: text.clone() });
        }
        text
    }

    /// Takes in what has arrived; returns it as text.
    pub fn catch_up(&mut self) -> Vec<String> {
        let arrived = self.observer.take();
        arrived.into_iter().map(|observation| self.reflect(observation)).collect()
    }

    /// Waits until the normal form of each name is `wanted`. The failure names the first that is not, and how it
    /// differs.
    pub async fn until(
        &mut self,
        names: &[String],
        wanted: &Normal,
        deadline: Duration,
    ) -> Result<()> {
        let begin = Instant::now();
        self.catch_up();
        let mut missing: BTreeSet<&String> = names.iter().collect();
        missing.retain(|name| self.normal(name) != *wanted);
        while let Some(first) = missing.first() {
            let left = deadline.saturating_sub(begin.elapsed());
            let Ok(next) = tokio::time::timeout(left, self.observer.next()).await else {
                let (count, differences) = (missing.len(), difference(wanted, &self.normal(first)));
                bail!("{count} are not as wanted after {deadline:?}; {first}:\n{differences}");
            };
            let mut said = vec![self.reflect(next?)];
            said.extend(self.catch_up());
            let touched = |name: &String| said.iter().any(|text| text.contains(name));
            missing.retain(|name| !touched(name) || self.normal(name) != *wanted);
        }
        Ok(())
    }
}

/// What is missing, too much or different, a line each.
pub fn difference(wanted: &Normal, found: &Normal) -> String {
    let mut lines = Vec::new();
    for (key, value) in wanted {
        match found.get(key) {
            None => lines.push(format!("missing: {key}")),
            Some(other) if other != value => {
                lines.push(format!("different: {key}\n  wanted {value}\n  found  {other}"));
            }
            Some(_) => {}
        }
    }
    let surplus = found.iter().filter(|(key, _)| !wanted.contains_key(*key));
    lines.extend(surplus.map(|(key, value)| format!("too much: {key}\n  {value}")));
    lines.join("\n")
}
