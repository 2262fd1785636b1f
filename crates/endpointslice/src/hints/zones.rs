//! How the CPU capacity of the nodes is distributed over zones.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;

use crate::names::{CONTROL_PLANE, ZONE};

/// Number of endpoints hinted to each zone.
pub(crate) type Counts = BTreeMap<String, usize>;

/// Each zone's share of the capacity.
#[derive(Clone, Debug, PartialEq)]
pub enum Zones {
    /// Unknown: a node has no zone or no capacity, or there are fewer than two zones.
    Unknown,
    /// The shares, which add up to 1. Empty until nodes are set.
    Shares(BTreeMap<String, f64>),
}

impl Default for Zones {
    fn default() -> Self {
        Self::Shares(BTreeMap::new())
    }
}

impl Zones {
    /// Computes the shares from Nodes.
    pub fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        Self::of_capacities(nodes.into_iter().filter_map(Capacity::of))
    }

    /// Computes the shares from the capacities of nodes.
    pub fn of_capacities<'a>(nodes: impl IntoIterator<Item = Capacity<'a>>) -> Self {
        let mut capacity: BTreeMap<String, i64> = BTreeMap::new();
        for node in nodes {
            let (Some(zone), Some(cpu)) = (node.zone, node.cpu) else { return Self::Unknown };
            *capacity.entry(zone.to_owned()).or_default() += cpu;
        }
        let total: i64 = capacity.values().sum();
        if total == 0 || capacity.len() < 2 {
            return Self::Unknown;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "thousandths of a CPU; the original does the same"
        )]
        let share = |cpu: i64| cpu as f64 / total as f64;
        Self::Shares(capacity.into_iter().map(|(zone, cpu)| (zone, share(cpu))).collect())
    }
}

/// Capacity that a node adds to its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity<'a> {
    /// The zone.
    pub zone: Option<&'a str>,
    /// CPU in thousandths, more than zero.
    pub cpu: Option<i64>,
}

impl<'a> Capacity<'a> {
    /// Capacity of a Node; `None` for control planes and nodes that are not ready.
    pub fn of(node: &'a Node) -> Option<Self> {
        (is_worker(node) && is_ready(node)).then(|| Self { zone: zone(node), cpu: cpu(node) })
    }
}

fn is_worker(node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    !CONTROL_PLANE.iter().any(|label| labels.is_some_and(|labels| labels.contains_key(*label)))
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.type_ == "Ready")
        .any(|condition| condition.status == "True")
}

fn zone(node: &Node) -> Option<&str> {
    let zone = node.metadata.labels.as_ref()?.get(ZONE)?;
    (!zone.is_empty()).then_some(zone)
}

/// Allocatable CPU of a node in thousandths, rounded up; `None` if it is absent or zero.
fn cpu(node: &Node) -> Option<i64> {
    let quantity = node.status.as_ref()?.allocatable.as_ref()?.get("cpu")?;
    thousandths(&quantity.0).filter(|cpu| *cpu > 0)
}

/// Parses a Kubernetes quantity: digits with an optional decimal point, and a suffix that scales them.
fn thousandths(quantity: &str) -> Option<i64> {
    let split = quantity.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(quantity.len());
    let (digits, suffix) = quantity.split_at(split);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let places = i32::try_from(fraction.len()).ok()?;
    let number: i128 = format!("{whole}{fraction}").parse().ok()?;
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|known| *known == suffix);
    let (factor, exponent) = match (binary, suffix) {
        (Some(power), _) => (1024_i128.checked_pow(u32::try_from(power).ok()? + 1)?, 3),
        (None, "n") => (1, -6),
        (None, "u") => (1, -3),
        (None, "m") => (1, 0),
        (None, "") => (1, 3),
        (None, "k") => (1, 6),
        (None, "M") => (1, 9),
        (None, "G") => (1, 12),
        (None, other) => (1, other.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?.checked_add(3)?),
    };
    let scaled = number.checked_mul(factor)?;
    let exponent = exponent.checked_sub(places)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let value =
        if exponent >= 0 { scaled.checked_mul(power)? } else { (scaled + power - 1) / power };
    i64::try_from(value).ok()
}
