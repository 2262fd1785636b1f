//! The rules of an API server that a reconciler can observe.

use std::collections::BTreeMap;

use fleet_endpointslice::Update;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::scenario::Fault;

/// EndpointSlices by name, and the writes to them.
pub(crate) struct Store {
    pub(crate) slices: BTreeMap<String, EndpointSlice>,
    pub(crate) calls: Vec<Call>,
    pub(crate) faults: Vec<Fault>,
    seen: BTreeMap<&'static str, usize>,
    revision: u64,
    made: usize,
}

/// A successful write.
#[derive(Clone)]
pub(crate) enum Call {
    Create { name: String, sent: EndpointSlice },
    Update { sent: EndpointSlice, recycled: bool },
    Delete { name: String },
}

impl Store {
    pub(crate) fn new(slices: &[EndpointSlice], faults: &[Fault]) -> Self {
        let name = |slice: &EndpointSlice| slice.metadata.name.clone().unwrap_or_default();
        Self {
            slices: slices.iter().map(|slice| (name(slice), slice.clone())).collect(),
            calls: Vec::new(),
            faults: faults.to_vec(),
            seen: BTreeMap::new(),
            revision: 1000,
            made: 0,
        }
    }

    /// The slices as they are read: empty lists come back absent.
    pub(crate) fn list(&self) -> Vec<EndpointSlice> {
        let read = |slice: &EndpointSlice| {
            let mut slice = slice.clone();
            slice.ports = slice.ports.filter(|ports| !ports.is_empty());
            slice
        };
        self.slices.values().map(read).collect()
    }

    pub(crate) fn create(&mut self, sent: &EndpointSlice) -> Result<EndpointSlice, String> {
        self.fail("create")?;
        let mut slice = sent.clone();
        self.made += 1;
        self.revision += 1;
        let prefix = sent.metadata.generate_name.as_deref().unwrap_or_default();
        let name = format!("{prefix}~{:03}", self.made);
        slice.metadata.name = Some(name.clone());
        slice.metadata.uid = Some(format!("uid-{name}"));
        slice.metadata.generation = Some(1);
        slice.metadata.resource_version = Some(self.revision.to_string());
        self.slices.insert(name.clone(), slice.clone());
        self.calls.push(Call::Create { name, sent: sent.clone() });
        Ok(slice)
    }

    pub(crate) fn update(&mut self, update: &Update<'_>) -> Result<EndpointSlice, String> {
        self.fail("update")?;
        let sent = &update.slice;
        let name = sent.metadata.name.clone().unwrap_or_default();
        let old = self.slices.get(&name).ok_or("NotFound")?;
        if sent.metadata.resource_version != old.metadata.resource_version
            || sent.metadata.uid != old.metadata.uid
        {
            return Err("Conflict".to_owned());
        }
        let mut slice = sent.clone();
        slice.metadata.generation = old.metadata.generation;
        let same = slice.endpoints == old.endpoints
            && slice.ports.as_deref().unwrap_or_default()
                == old.ports.as_deref().unwrap_or_default()
            && slice.metadata.labels == old.metadata.labels;
        if !same {
            *slice.metadata.generation.get_or_insert_default() += 1;
        }
        if slice != *old {
            self.revision += 1;
            slice.metadata.resource_version = Some(self.revision.to_string());
        }
        self.slices.insert(name, slice.clone());
        self.calls.push(Call::Update { sent: sent.clone(), recycled: update.recycled });
        Ok(slice)
    }

    /// A delete of an absent slice succeeds.
    pub(crate) fn delete(&mut self, name: &str) -> Result<(), String> {
        match self.fail("delete") {
            Err(error) if error != "NotFound" => return Err(error),
            _ => {}
        }
        self.slices.remove(name);
        self.calls.push(Call::Delete { name: name.to_owned() });
        Ok(())
    }

    fn fail(&mut self, verb: &'static str) -> Result<(), String> {
        let seen = self.seen.entry(verb).or_default();
        *seen += 1;
        let fault = self.faults.iter().find(|fault| fault.verb == verb && fault.nth == *seen);
        fault.map_or(Ok(()), |fault| Err(fault.error.clone()))
    }
}
