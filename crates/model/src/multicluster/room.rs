//! Which exports of a Service have room in the object about it: what is in force stays, then the oldest.

use std::collections::BTreeSet;

use fleet_api::limits;
use fleet_api::limits::resolved::EXPORTERS;
use fleet_api::multicluster::{Exporter, ServicePort};

use super::export::Export;
use super::ports::PortUnion;

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
pub(super) fn unite(exports: &[Export<'_>], listed: &[Exporter]) -> United {
    let listed: BTreeSet<&str> = listed.iter().map(|exporter| exporter.cluster.as_str()).collect();
    let is_listed = |export: &&Export<'_>| listed.contains(export.cluster);
    let (old, new): (Vec<_>, Vec<_>) = exports.iter().partition(is_listed);
    if old.is_empty() {
        return in_order(new);
    }
    let clusters = |exports: &[&Export<'_>]| -> BTreeSet<String> {
        exports.iter().map(|export| export.cluster.to_owned()).collect()
    };
    let free = EXPORTERS.accepted.saturating_sub(old.len()).min(new.len());
    let first = &new[..free];
    let mut placed = &clusters(&old) | &clusters(first);
    let mut united = of(exports, &placed);
    if !united.refused.is_empty() {
        united = in_order(old);
        placed = united.exporters.iter().map(|exporter| exporter.cluster.clone()).collect();
        for export in first.iter().take(TRIES) {
            placed.insert(export.cluster.to_owned());
            let with = of(exports, &placed);
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

fn of(exports: &[Export<'_>], placed: &BTreeSet<String>) -> United {
    in_order(exports.iter().filter(|export| placed.contains(export.cluster)))
}

/// Unites these, as long as there is a place.
fn in_order<'a, 'b: 'a>(exports: impl IntoIterator<Item = &'a Export<'b>>) -> United {
    let (mut union, mut size) = (PortUnion::default(), 0);
    let mut united = United::default();
    for export in exports {
        let before = union.add(&export.properties.ports);
        let withheld = union.withheld(&export.properties.ports);
        let needed = size + withheld.iter().map(|name| written(name)).sum::<usize>();
        let cluster = export.cluster.to_owned();
        if needed <= WITHHELD && united.exporters.len() < EXPORTERS.accepted {
            size = needed;
            united.exporters.push(Exporter { cluster, withheld });
        } else {
            union.undo(before);
            united.refused.insert(cluster);
        }
    }
    united.exporters.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    united.ports = union.into_ports();
    united
}

/// Bytes of a name in a list, with quotation marks and a comma.
fn written(name: &str) -> usize {
    name.len().min(limits::port::NAME.accepted) + 3
}
