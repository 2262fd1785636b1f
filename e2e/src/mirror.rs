//! The fleet's objects as the watches of an [`Observer`] tell of them, and what they come to: their normal form.
//!
//! Two runs of one story differ in names, uids, versions and times. In normal form they do not, so that the outcome of
//! a disturbed run can be compared with that of a calm one.

mod normal;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::fleet::Fleet;
use crate::objects::Found;
use crate::observer::{Observation, Observer, What};

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

    /// Takes the next event in; waits for it.
    async fn take(&mut self) -> Result<()> {
        let next = self.observer.next().await?;
        self.reflect(next);
        Ok(())
    }

    fn reflect(&mut self, observation: Observation) {
        let name = observation.name();
        let Observation { cluster, kind, what, object, .. } = observation;
        let key = (cluster.clone(), kind.kind, name);
        if what == What::Gone {
            self.objects.remove(&key);
            return;
        }
        let text = serde_json::to_string(&object).unwrap_or_default();
        self.objects.insert(key, Reflection { found: Found { cluster, kind, object }, text });
    }

    /// Takes in what has arrived.
    pub fn catch_up(&mut self) {
        for observation in self.observer.take() {
            self.reflect(observation);
        }
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
        let mut missing: BTreeSet<&String> = names.iter().collect();
        loop {
            self.catch_up();
            missing.retain(|name| self.normal(name) != *wanted);
            let Some(first) = missing.first() else { return Ok(()) };
            let left = deadline.saturating_sub(begin.elapsed());
            if let Ok(taken) = tokio::time::timeout(left, self.take()).await {
                taken?;
                continue;
            }
            let (count, differences) = (missing.len(), difference(wanted, &self.normal(first)));
            bail!("{count} are not as wanted after {deadline:?}; {first}:\n{differences}");
        }
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
