//! The fleet's objects as the watches of an [`Observer`] show them, and what they come to: their normal form.
//!
//! Two runs of one story differ in names, uids, versions and times. In normal form they do not, so that the outcome of
//! a disturbed run can be compared with that of an undisturbed one.

mod normal;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use memchr::memmem::Finder;
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
    objects: BTreeMap<Key, Reflection>,
    /// The names that are waited for: hundreds of runs in thousands of objects are compared without reading all objects for each.
    followed: BTreeMap<String, Followed>,
}

/// Cluster, kind and name of an object.
type Key = (String, &'static str, String);

#[derive(Debug)]
struct Reflection {
    found: Found,
    /// The object as JSON, to look for names in.
    text: String,
}

/// What mentions a name.
#[derive(Debug)]
struct Followed {
    finder: Finder<'static>,
    /// Normal forms.
    forms: BTreeMap<Key, (String, Value)>,
}

impl Followed {
    fn of(name: &str, objects: &BTreeMap<Key, Reflection>) -> Self {
        let finder = Finder::new(name).into_owned();
        let mut followed = Self { finder, forms: BTreeMap::new() };
        for (key, object) in objects {
            followed.reflect(name, key, Some(object));
        }
        followed
    }

    /// Takes an object in, or its end. Returns whether it mentions the name, or did.
    fn reflect(&mut self, name: &str, key: &Key, object: Option<&Reflection>) -> bool {
        let meant = object.filter(|one| self.finder.find(one.text.as_bytes()).is_some());
        match meant {
            Some(one) => {
                self.forms.insert(key.clone(), normal::form(&one.found, name));
                true
            }
            None => self.forms.remove(key).is_some(),
        }
    }

    fn normal(&self) -> Normal {
        self.forms.values().cloned().collect()
    }

    fn is(&self, wanted: &Normal) -> bool {
        let forms: BTreeMap<&String, &Value> =
            self.forms.values().map(|(place, form)| (place, form)).collect();
        forms.into_iter().eq(wanted)
    }
}

impl Mirror {
    /// Starts to watch all clusters.
    pub async fn start(fleet: &Fleet) -> Result<Self> {
        let observer = Observer::start(fleet).await?;
        Ok(Self { observer, objects: BTreeMap::new(), followed: BTreeMap::new() })
    }

    /// Everything that mentions `name`, which must not occur within other words, in normal form: `name` is replaced,
    /// and what no two runs share is masked.
    pub fn normal(&self, name: &str) -> Normal {
        Followed::of(name, &self.objects).normal()
    }

    /// Everything that mentions `name`, with its place in normal form.
    pub fn objects(&self, name: &str) -> impl Iterator<Item = (String, &Found)> {
        let meant = self.objects.values().filter(move |one| one.text.contains(name));
        meant.map(move |one| (normal::place(&one.found, name), &one.found))
    }

    /// Takes an event in; returns the followed names that it concerns.
    fn reflect(&mut self, observation: Observation) -> BTreeSet<String> {
        let name = observation.name();
        let Observation { cluster, kind, what, object, .. } = observation;
        let key = (cluster.clone(), kind.kind, name);
        if what == What::Gone {
            self.objects.remove(&key);
        } else {
            let text = serde_json::to_string(&object).unwrap_or_default();
            let found = Found { cluster, kind, object };
            self.objects.insert(key.clone(), Reflection { found, text });
        }
        let object = self.objects.get(&key);
        let concerned = self.followed.iter_mut();
        let concerned =
            concerned.filter_map(|(name, it)| it.reflect(name, &key, object).then_some(name));
        concerned.cloned().collect()
    }

    /// Takes in what has arrived; returns the followed names that it concerns.
    pub fn catch_up(&mut self) -> BTreeSet<String> {
        let arrived = self.observer.take();
        arrived.into_iter().flat_map(|observation| self.reflect(observation)).collect()
    }

    /// Follows these names, and no others any more.
    fn follow(&mut self, names: &[String]) {
        let wanted: BTreeSet<&String> = names.iter().collect();
        self.followed.retain(|name, _| wanted.contains(name));
        for name in wanted {
            let new = || Followed::of(name, &self.objects);
            self.followed.entry(name.clone()).or_insert_with(new);
        }
    }

    fn is(&self, name: &str, wanted: &Normal) -> bool {
        self.followed.get(name).is_some_and(|followed| followed.is(wanted))
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
        self.follow(names);
        let mut missing: BTreeSet<&String> = names.iter().collect();
        missing.retain(|name| !self.is(name, wanted));
        while let Some(first) = missing.first() {
            let left = deadline.saturating_sub(begin.elapsed());
            let Ok(next) = tokio::time::timeout(left, self.observer.next()).await else {
                let (count, differences) = (missing.len(), difference(wanted, &self.normal(first)));
                bail!("{count} are not as wanted after {deadline:?}; {first}:\n{differences}");
            };
            let mut concerned = self.reflect(next?);
            concerned.extend(self.catch_up());
            missing.retain(|name| !concerned.contains(*name) || !self.is(name, wanted));
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

#[cfg(test)]
mod tests {
    use fleet_api::kinds;
    use serde_json::json;

    use super::*;

    fn object(key: &Key, mentions: &str) -> Reflection {
        let object = json!({ "metadata": { "name": key.2 }, "spec": { "of": mentions } });
        let text = object.to_string();
        let object = serde_json::from_value(object).unwrap();
        let found = Found { cluster: key.0.clone(), kind: kinds::SERVICE, object };
        Reflection { found, text }
    }

    #[test]
    fn what_mentions_a_name_is_followed() {
        let key = |name: &str| ("hub".to_owned(), kinds::SERVICE.kind, name.to_owned());
        let (web, other) = (key("w07x"), key("other"));
        let objects = [(web.clone(), object(&web, "w07x")), (other.clone(), object(&other, "no"))];
        let mut followed = Followed::of("w07x", &objects.into());
        let one = followed.normal();
        assert!(one.len() == 1 && followed.is(&one), "{one:?}");
        assert!(!followed.reflect("w07x", &other, Some(&object(&other, "still no"))));
        assert!(followed.reflect("w07x", &other, Some(&object(&other, "w07x"))));
        assert!(followed.normal().len() == 2 && !followed.is(&one));
        assert!(followed.reflect("w07x", &other, None), "it is gone, and was followed");
        assert!(followed.is(&one));
        assert!(!followed.reflect("w07x", &other, None), "it is gone already");
        assert!(followed.reflect("w07x", &web, Some(&object(&web, "w07x again"))));
        assert!(!followed.is(&one), "it has changed");
    }
}
