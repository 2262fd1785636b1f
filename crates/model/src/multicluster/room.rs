//! Which exports of a Service have room in the object about it: what is in force stays, then the oldest.

use std::collections::BTreeSet;

use fleet_api::limits;
use fleet_api::limits::resolved::EXPORTERS;
use fleet_api::multicluster::{Exporter, ServicePort};

use super::export::Export;
use super::ports::PortUnion;
use super::yielding::Yielding;

/// How much all names of withheld ports of one Service may take together, in bytes.
const WITHHELD: usize = 128 << 10;
/// How many exports are looked at one by one where not all that are new have room: each costs as much as uniting all. The next
/// ones get their turn when one of these is in force or gone.
const TRIES: usize = 8;

/// Ports and exporters of one Service.
#[derive(Debug, Default)]
pub(super) struct United {
    /// The ports in force.
    pub(super) ports: Vec<ServicePort>,
    /// The exporters by name, so that the object does not change with their age.
    pub(super) exporters: Vec<Exporter>,
    /// Clusters whose exports find no place.
    pub(super) refused: BTreeSet<String>,
}

/// Unites the ports in the order of the exports. Their order decides whose ports come first, not who finds a place: an export
/// that is new takes no endpoints away from one that is `listed`, whatever age it claims.
///
/// Exports that yield come last, but for ports that others have, too.
pub(super) fn unite(
    exports: &[Export<'_>],
    listed: &[Exporter],
    yielding: &Yielding<'_>,
) -> United {
    let listed: BTreeSet<&str> = listed.iter().map(|exporter| exporter.cluster.as_str()).collect();
    let is_listed = |export: &&Export<'_>| listed.contains(export.cluster);
    let (old, new): (Vec<_>, Vec<_>) = exports.iter().partition(is_listed);
    if old.is_empty() {
        return in_order(new, yielding);
    }
    let clusters = |exports: &[&Export<'_>]| -> BTreeSet<String> {
        exports.iter().map(|export| export.cluster.to_owned()).collect()
    };
    let free = EXPORTERS.accepted.saturating_sub(old.len()).min(new.len());
    let first = &new[..free];
    let mut placed = &clusters(&old) | &clusters(first);
    let mut united = of(exports, &placed, yielding);
    if !united.refused.is_empty() {
        united = in_order(old, yielding);
        placed = united.exporters.iter().map(|exporter| exporter.cluster.clone()).collect();
        for export in first.iter().take(TRIES) {
            placed.insert(export.cluster.to_owned());
            let with = of(exports, &placed, yielding);
            if with.refused.is_empty() {
                united = with;
            } else {
                placed.remove(export.cluster);
            }
        }
    }
    let all = || exports.iter().map(|export| export.cluster);
    united.refused = all().filter(|it| !placed.contains(*it)).map(str::to_owned).collect();
    united
}

fn of(exports: &[Export<'_>], placed: &BTreeSet<String>, yielding: &Yielding<'_>) -> United {
    in_order(exports.iter().filter(|export| placed.contains(export.cluster)), yielding)
}

/// Unites these, as long as there is a place.
fn in_order<'a, 'b: 'a>(
    exports: impl IntoIterator<Item = &'a Export<'b>>,
    yielding: &Yielding<'_>,
) -> United {
    let mut union = UnionWithRoom::default();
    let mut last = Vec::new();
    for export in exports {
        if yielding.includes(export.cluster) {
            union.ports.add(yielding.staying(export));
            last.push(export);
        } else {
            union.place(export);
        }
    }
    for export in last {
        union.place(export);
    }
    let UnionWithRoom { ports, mut united, .. } = union;
    united.exporters.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    united.ports = ports.into_ports();
    united
}

/// What is united so far, and what names of withheld ports take.
#[derive(Debug, Default)]
struct UnionWithRoom<'a> {
    ports: PortUnion<'a>,
    size: usize,
    united: United,
}

impl<'a> UnionWithRoom<'a> {
    fn place(&mut self, export: &'a Export<'_>) {
        let before = self.ports.add(&export.properties.ports);
        let withheld = self.ports.withheld(&export.properties.ports);
        let needed = self.size + withheld.iter().map(|name| written(name)).sum::<usize>();
        let cluster = export.cluster.to_owned();
        if needed <= WITHHELD && self.united.exporters.len() < EXPORTERS.accepted {
            self.size = needed;
            self.united.exporters.push(Exporter { cluster, withheld });
        } else {
            self.ports.undo(before);
            self.united.refused.insert(cluster);
        }
    }
}

/// Bytes of a name in a list, with quotation marks and a comma.
fn written(name: &str) -> usize {
    name.len().min(limits::port::NAME.accepted) + 3
}
