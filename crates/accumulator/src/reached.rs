//! Up to which version each source has shown its API server, for the next process of an agent.
//!
//! A process that begins has seen nothing of the server, and takes what a restored backup has for the present. What the one before has
//! reached, handed on where the restore does not reach, is what shows it that the server went back in time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::time::now;
use crate::{ClusterId, ResourceVersion, SourceInfo};

/// Between the versions of two sources.
const NEXT: char = ',';
/// Between a source and its version.
const IS: char = '=';

/// The newest version that each source has reached. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Reached(Arc<Mutex<BTreeMap<(ClusterId, &'static str), Newest>>>);

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Reached {
    /// What the sources of a cluster have reached, as text; `None` before any has.
    pub fn hand_on(&self, cluster: ClusterId) -> Option<String> {
        let known = self.0.lock();
        let of_cluster = known.iter().filter(|((of, _), _)| *of == cluster);
        let parts = of_cluster
            .filter_map(|((_, source), newest)| Some(format!("{source}{IS}{}", newest.hand_on()?)));
        let parts: Vec<_> = parts.collect();
        (!parts.is_empty()).then(|| parts.join(&NEXT.to_string()))
    }

    /// Takes over what an earlier process has handed on: the next list of each source that is begun from now on has to be newer. What is
    /// not understood, or about a source that is not watched, is left out.
    pub fn take_over(&self, cluster: ClusterId, handed_on: &str) {
        let known = self.0.lock();
        let mine = |name: &str| {
            let mut of_cluster = known.iter().filter(|((of, _), _)| *of == cluster);
            of_cluster.find(|((_, source), _)| *source == name).map(|(_, newest)| newest)
        };
        let parts = handed_on.split(NEXT).filter_map(|part| part.split_once(IS));
        for (newest, version) in parts.filter_map(|(name, version)| Some((mine(name)?, version))) {
            newest.take_over(version.into());
        }
    }

    /// What a source has reached.
    pub(crate) fn of(&self, source: &SourceInfo) -> Newest {
        self.0.lock().entry((source.cluster, source.field)).or_default().clone()
    }
}

/// The newest version that one source has reached, if any. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newest(Arc<Mutex<Versions>>);

#[derive(Debug, Default)]
struct Versions {
    /// Of this process.
    reached: Option<ResourceVersion>,
    /// Of one before, and when it was taken over: a list that was begun earlier may well be older.
    earlier: Option<(ResourceVersion, Instant)>,
}

impl Newest {
    fn hand_on(&self) -> Option<ResourceVersion> {
        let Versions { reached, earlier } = &*self.0.lock();
        let earlier = earlier.as_ref().map(|(version, _)| version);
        let newest = match (reached, earlier) {
            (Some(reached), Some(earlier)) if !is_before(reached, earlier) => Some(reached),
            (reached, earlier) => earlier.or(reached.as_ref()),
        };
        newest.filter(|version| version.is_at_least(&"0".into()).is_some()).cloned()
    }

    fn take_over(&self, version: ResourceVersion) {
        let known = &mut self.0.lock();
        if known.reached.as_ref().is_none_or(|reached| is_before(reached, &version)) {
            known.earlier = Some((version, now()));
        }
    }

    /// Whether a version is older.
    pub(crate) fn is_after(&self, version: &ResourceVersion) -> bool {
        self.0.lock().reached.as_ref().is_some_and(|newest| is_before(version, newest))
    }

    /// The same for a list that was begun at `begun`, which may be older than what an earlier process has handed on, too. That is asked
    /// once.
    pub(crate) fn is_after_list(&self, version: &ResourceVersion, begun: Instant) -> bool {
        let earlier = self.0.lock().earlier.take_if(|(_, since)| begun >= *since);
        earlier.is_some_and(|(earlier, _)| is_before(version, &earlier)) || self.is_after(version)
    }

    /// Takes note of a version, unless it is older.
    pub(crate) fn reaches(&self, version: &ResourceVersion) {
        if !self.is_after(version) {
            self.set(Some(version.clone()));
        }
    }

    /// The server is at this version, whatever it was before.
    pub(crate) fn set(&self, version: Option<ResourceVersion>) {
        self.0.lock().reached = version;
    }
}

fn is_before(version: &ResourceVersion, other: &ResourceVersion) -> bool {
    version.is_at_least(other) == Some(false)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fleet_api::kinds;

    use super::*;
    use crate::SourceId;

    fn source(field: &'static str) -> SourceInfo {
        let (id, cluster, kind) = (SourceId::new(0), ClusterId::Hub, kinds::SERVICE);
        SourceInfo { id, field, cluster, kind, optional: false }
    }

    #[test]
    fn what_was_reached_is_handed_on() {
        let before = Reached::default();
        let services = before.of(&source("services"));
        assert_eq!(before.hand_on(ClusterId::Hub), None);
        services.reaches(&"9".into());
        services.reaches(&"8".into());
        before.of(&source("openapi")).reaches(&"/a,b=1".into());
        let text = before.hand_on(ClusterId::Hub).unwrap();
        assert_eq!((&*text, before.hand_on(ClusterId::Local)), ("services=9", None));

        let (after, before) = (Reached::default(), now());
        let services = after.of(&source("services"));
        after.take_over(ClusterId::Hub, &format!("unknown=99,,x,=,services=no version,{text}"));
        assert_eq!(after.hand_on(ClusterId::Hub), Some(text), "until it has listed");
        let since = now() + Duration::from_secs(1);
        assert!(!services.is_after_list(&"8".into(), before), "begun when that was not known");
        assert!(services.is_after_list(&"8".into(), since), "begun later, and older");
        assert!(!services.is_after_list(&"8".into(), since), "it is the present then");
    }

    #[test]
    fn what_is_behind_this_process_does_not_count() {
        let reached = Reached::default();
        let services = reached.of(&source("services"));
        services.reaches(&"12".into());
        reached.take_over(ClusterId::Hub, "services=9");
        services.set(Some("5".into()));
        assert!(!services.is_after_list(&"6".into(), now()));
    }
}
