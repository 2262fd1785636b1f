//! Slices that are kept although the hub lacks them, where their exporter counts as silent.
//!
//! They get other places as those of the hub do. Since no source has their conditions any more, they note themselves what those were.

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::Object;
use fleet_api::annotations::TERMINATING_AT_EXPORTER;
use fleet_model::objects::ManagedSlice;
use fleet_plan::{Account, Step};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::change::same_endpoints;
use super::ground::Ground;
use super::outlook::Outlook;
use super::round::{Draft, Kept};
use super::shaping::{address, conditions};
use crate::slicing;

/// A slice that is kept, and where its endpoints belong.
#[derive(Clone, Debug)]
pub(crate) struct KeptSlice<'a> {
    cluster: &'a str,
    current: &'a Object<ManagedSlice>,
    /// As its exporter had it last.
    source: EndpointSlice,
    /// With its endpoints where they belong.
    slice: EndpointSlice,
}

/// Parts kept slices into those that may get another place, and those that stay as they are. `following` are the clusters of which other
/// slices are here, as the hub has them.
pub(crate) fn part<'a>(
    ground: &Ground<'_>,
    following: &BTreeSet<&str>,
    kept: impl IntoIterator<Item = (&'a str, &'a Object<ManagedSlice>)>,
) -> (Vec<KeptSlice<'a>>, Vec<Kept<'a>>) {
    let (mut moving, mut staying) = (Vec::new(), Vec::new());
    for (cluster, current) in kept {
        // One of a cluster that is neither missing nor back, as one that is forgotten, stays last resort until it goes.
        let is_back = note(&current.slice).is_some() && following.contains(cluster);
        let is_concerned = ground.is_missing(cluster) || is_back;
        let may_move = ground.may_move_kept() && *cluster != *ground.importer();
        if is_concerned && may_move && !current.is_terminating() {
            let source = as_exported(&current.slice);
            moving.push(KeptSlice { cluster, current, slice: source.clone(), source });
        } else {
            staying.push((cluster, &current.slice));
        }
    }
    (moving, staying)
}

impl<'a> KeptSlice<'a> {
    /// What is to be decided on.
    pub(crate) fn draft(&self) -> Draft<'a> {
        Draft {
            cluster: self.cluster.to_owned(),
            source: self.source.clone(),
            current: Some(&self.current.slice),
            // What is here is all that there is to know.
            is_same_generation: true,
        }
    }

    /// Takes the decision, unless it takes endpoints away: nothing else has them, so they could not come back.
    pub(crate) fn place(&mut self, slice: EndpointSlice) {
        let is_whole = slice.endpoints.len() == self.source.endpoints.len();
        self.slice = if is_whole { slice } else { self.current.slice.clone() };
    }

    /// How it looks beside others.
    pub(crate) fn outlook(&self) -> Outlook<'_> {
        Outlook {
            name: &self.current.name.name,
            current: Some(&self.current.slice),
            source: &self.source,
            wanted: &self.slice,
            is_current: self.is_current(),
        }
    }

    /// What its exporter offered last.
    pub(crate) fn offered(&self) -> (&'a str, &EndpointSlice) {
        (self.cluster, &self.source)
    }

    /// The cluster whose endpoints it has.
    pub(crate) fn cluster(&self) -> &'a str {
        self.cluster
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.current.name.name
    }

    /// Whether endpoints are not as their exporter had them last.
    fn differs(&self) -> bool {
        let mut pairs = self.slice.endpoints.iter().zip(&self.source.endpoints);
        pairs.any(|(here, there)| conditions(here) != conditions(there))
    }

    fn is_current(&self) -> bool {
        same_endpoints(&self.current.slice, &self.slice)
    }

    /// The write, if one is needed.
    pub(crate) fn step(&self) -> Option<Step> {
        if self.is_current() {
            return None;
        }
        let mut slice =
            EndpointSlice { endpoints: self.slice.endpoints.clone(), ..self.current.slice.clone() };
        let annotations = slice.metadata.annotations.get_or_insert_default();
        if self.differs() {
            annotations.insert(TERMINATING_AT_EXPORTER.to_owned(), terminating(&self.source));
        } else {
            annotations.remove(TERMINATING_AT_EXPORTER);
        }
        let step = slicing::replace_whole(self.current, &slice);
        Some(step.stage("import").on_account_of(&Account::from(self.cluster)))
    }
}

fn note(slice: &EndpointSlice) -> Option<&str> {
    let annotations: &BTreeMap<_, _> = slice.metadata.annotations.as_ref()?;
    annotations.get(TERMINATING_AT_EXPORTER).map(String::as_str)
}

/// The slice with the conditions that its exporter reported last.
fn as_exported(slice: &EndpointSlice) -> EndpointSlice {
    let Some(note) = note(slice) else { return slice.clone() };
    let terminating: BTreeSet<_> = note.split(',').collect();
    let mut slice = slice.clone();
    for endpoint in &mut slice.endpoints {
        if !terminating.contains(address(endpoint)) {
            endpoint.conditions = None;
        }
    }
    slice
}

/// The endpoints that are not ready at the exporter.
fn terminating(source: &EndpointSlice) -> String {
    let others = source.endpoints.iter().filter(|endpoint| !conditions(endpoint).ready);
    others.map(|endpoint: &Endpoint| address(endpoint)).collect::<Vec<_>>().join(",")
}
