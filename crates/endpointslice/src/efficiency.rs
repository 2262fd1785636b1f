//! Packing efficiency and traffic distributions: gauges over all Services.

use std::collections::BTreeMap;

use crate::changes::{GroupSize, Measures};

/// Sums over all Services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Endpoints.
    pub endpoints: usize,
    /// Slices.
    pub slices: usize,
    /// Minimum number of slices that could hold the endpoints.
    pub desired_slices: usize,
}

/// The share of every Service in the gauges. Keys are `namespace/name`.
#[derive(Clone, Debug, Default)]
pub struct Efficiency {
    services: BTreeMap<String, Entry>,
    totals: Totals,
    distributions: BTreeMap<&'static str, usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    totals: Totals,
    distribution: Option<&'static str>,
}

impl Efficiency {
    /// Replaces the share of a Service. A Service of two address types counts with both.
    pub fn update<'a>(
        &mut self,
        service: &str,
        measures: impl IntoIterator<Item = &'a Measures>,
        limit: usize,
    ) {
        let mut entry = Entry::default();
        for measures in measures {
            entry.totals.add(size_of(&measures.groups, limit));
            entry.distribution = measures.traffic_distribution;
        }
        self.remove(service);
        self.totals.add(entry.totals);
        if let Some(distribution) = entry.distribution {
            *self.distributions.entry(distribution).or_default() += 1;
        }
        self.services.insert(service.to_owned(), entry);
    }

    /// Removes the share of a Service.
    pub fn remove(&mut self, service: &str) {
        let Some(entry) = self.services.remove(service) else { return };
        self.totals.subtract(entry.totals);
        if let Some(distribution) = entry.distribution {
            self.distributions.entry(distribution).and_modify(|count| *count -= 1);
            self.distributions.retain(|_, count| *count > 0);
        }
    }

    /// The sums.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Number of Services per traffic distribution.
    pub fn traffic_distributions(&self) -> &BTreeMap<&'static str, usize> {
        &self.distributions
    }
}

/// The share of one address type, whose minimum is one slice.
fn size_of(groups: &[GroupSize], limit: usize) -> Totals {
    let mut totals = Totals::default();
    for group in groups {
        totals.add(Totals {
            endpoints: group.endpoints,
            slices: group.slices,
            desired_slices: group.endpoints.div_ceil(limit.max(1)),
        });
    }
    Totals { desired_slices: totals.desired_slices.max(1), ..totals }
}

impl Totals {
    fn add(&mut self, other: Self) {
        self.endpoints += other.endpoints;
        self.slices += other.slices;
        self.desired_slices += other.desired_slices;
    }

    fn subtract(&mut self, other: Self) {
        self.endpoints -= other.endpoints;
        self.slices -= other.slices;
        self.desired_slices -= other.desired_slices;
    }
}

#[cfg(test)]
mod tests;
