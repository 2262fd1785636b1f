//! Where boxes and lines of the map stand: three columns in the order of names, so that two pictures can be compared. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::view::{Edge, MemberView, ServiceView};

/// Width of the whole.
pub(super) const WIDTH: usize = 1180;
/// Width of a member's box.
pub(super) const MEMBER: usize = 190;
/// Width of a Service's box.
pub(super) const SERVICE: usize = 260;
/// Left edges of the columns.
pub(super) const LEFT: [usize; 3] = [0, 460, 990];
/// Height of the titles of columns.
const TITLE: usize = 34;
/// Least height of a box.
const LEAST: usize = 74;
/// Space between two boxes.
const GAP: usize = 26;
/// Space between the ends of two lines with labels.
const STEP: usize = 19;

/// A box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) top: usize,
    pub(super) height: usize,
}

/// A line from a box to another one, with its ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path<'a> {
    pub(super) service: &'a ServiceView,
    pub(super) edge: &'a Edge,
    /// Height of its end at the member.
    pub(super) member: usize,
    /// Height of its end at the Service.
    pub(super) row: usize,
}

/// The map.
#[derive(Debug, Default)]
pub(super) struct Layout<'a> {
    pub(super) height: usize,
    pub(super) exporters: Vec<(&'a str, Place)>,
    pub(super) services: Vec<(&'a ServiceView, Place)>,
    pub(super) importers: Vec<(&'a str, Place)>,
    pub(super) exports: Vec<Path<'a>>,
    pub(super) imports: Vec<Path<'a>>,
}

type Sides<'a> = fn(&'a ServiceView) -> &'a [Edge];

impl<'a> Layout<'a> {
    /// The map of these Services. Members without a part in them are in the strip alone.
    pub(super) fn of(services: &[&'a ServiceView], members: &'a [MemberView]) -> Self {
        let exporting: Sides<'a> = |service| &service.exporters;
        let importing: Sides<'a> = |service| &service.importers;
        let exporters = column(services, members, exporting);
        let importers = column(services, members, importing);
        let rows: Vec<_> = services.iter().map(|&service| (service, height_of(service))).collect();
        let most = [heights(&exporters), heights(&rows), heights(&importers)];
        let height = TITLE + most.into_iter().max().unwrap_or_default();
        let (exporters, importers) = (placed(exporters, height), placed(importers, height));
        let services = placed(rows, height);
        let exports = paths(&services, &exporters, exporting);
        let imports = paths(&services, &importers, importing);
        Self { height: height + GAP, exporters, services, importers, exports, imports }
    }
}

/// The members of a column, each as high as its lines need.
fn column<'a>(
    services: &[&'a ServiceView],
    members: &'a [MemberView],
    side: Sides<'a>,
) -> Vec<(&'a str, usize)> {
    let mut lines = BTreeMap::<&str, usize>::new();
    for edge in services.iter().flat_map(|service| side(service)) {
        *lines.entry(&edge.member).or_default() += 1;
    }
    let known: BTreeSet<_> = members.iter().map(|member| member.name.as_str()).collect();
    let all = known.iter().chain(lines.keys()).copied().collect::<BTreeSet<_>>();
    let height = |lines: usize| LEAST.max(lines * STEP / 2 + GAP);
    let shown = all.into_iter().filter_map(|name| Some((name, height(*lines.get(name)?))));
    shown.collect()
}

fn height_of(service: &ServiceView) -> usize {
    let lines = service.exporters.len().max(service.importers.len());
    LEAST.max(lines * STEP + GAP / 2)
}

fn heights<T>(boxes: &[(T, usize)]) -> usize {
    boxes.iter().map(|(_, height)| height + GAP).sum()
}

/// Spreads the boxes of a column over the height of the highest.
fn placed<T>(boxes: Vec<(T, usize)>, height: usize) -> Vec<(T, Place)> {
    let free = height.saturating_sub(TITLE + heights(&boxes));
    let space = GAP + free / boxes.len().max(1);
    let mut top = TITLE + free / boxes.len().max(1) / 2;
    let place = |(what, height)| {
        let place = Place { top, height };
        top += height + space;
        (what, place)
    };
    boxes.into_iter().map(place).collect()
}

fn paths<'a>(
    services: &[(&'a ServiceView, Place)],
    members: &[(&'a str, Place)],
    side: Sides<'a>,
) -> Vec<Path<'a>> {
    let mut of_members = BTreeMap::<&str, usize>::new();
    let edges = services.iter().flat_map(|(service, _)| side(service));
    for edge in edges {
        *of_members.entry(&edge.member).or_default() += 1;
    }
    let mut at_member = BTreeMap::<&str, usize>::new();
    let mut paths = Vec::new();
    for (service, place) in services {
        let edges = side(service);
        for (index, edge) in edges.iter().enumerate() {
            let found = members.binary_search_by(|(name, _)| (*name).cmp(edge.member.as_str()));
            let Ok(member) = found.map(|index| members[index].1) else { continue };
            let number = at_member.entry(&edge.member).or_default();
            let all = of_members.get(edge.member.as_str()).copied().unwrap_or(1);
            paths.push(Path {
                service,
                edge,
                member: end(member, *number, all),
                row: end(*place, index, edges.len()),
            });
            *number += 1;
        }
    }
    paths
}

/// The height of one of several ends at a box.
fn end(place: Place, index: usize, all: usize) -> usize {
    place.top + place.height * (2 * index + 1) / (2 * all.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(member: &str) -> Edge {
        Edge { member: member.to_owned(), ..Edge::default() }
    }

    fn service(name: &str, exporters: &[&str], importers: &[&str]) -> ServiceView {
        ServiceView {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            exporters: exporters.iter().map(|name| edge(name)).collect(),
            importers: importers.iter().map(|name| edge(name)).collect(),
            ..ServiceView::default()
        }
    }

    #[test]
    fn boxes_of_a_column_do_not_overlap() {
        let all: Vec<_> =
            (0..9).map(|at| service(&format!("s{at}"), &["a", "b"], &["c"])).collect();
        let all: Vec<_> = all.iter().collect();
        let layout = Layout::of(&all, &[]);
        let tops = |places: Vec<Place>| {
            let ends = places.windows(2).all(|pair| pair[0].top + pair[0].height < pair[1].top);
            assert!(ends, "{places:?}");
            assert!(places.iter().all(|place| place.top + place.height < layout.height));
        };
        tops(layout.services.iter().map(|(_, place)| *place).collect());
        tops(layout.exporters.iter().map(|(_, place)| *place).collect());
        tops(layout.importers.iter().map(|(_, place)| *place).collect());
    }

    #[test]
    fn each_line_has_ends_of_its_own_in_the_order_of_names() {
        let all = [service("a", &["east", "west"], &["east"]), service("b", &["east"], &["west"])];
        let all: Vec<_> = all.iter().collect();
        let layout = Layout::of(&all, &[]);
        let ends: Vec<_> =
            layout.exports.iter().map(|path| (path.edge.member.as_str(), path.row)).collect();
        assert!(ends[0].1 < ends[1].1, "{ends:?}");
        let at_east: Vec<_> = layout
            .exports
            .iter()
            .filter(|path| path.edge.member == "east")
            .map(|path| path.member)
            .collect();
        assert!(at_east[0] < at_east[1], "{at_east:?}");
        assert_eq!((layout.exports.len(), layout.imports.len()), (3, 2));
    }

    /// What is added to a fleet moves nothing to another column, and keeps the order.
    #[test]
    fn the_order_is_that_of_names() {
        let all = [service("a", &["west", "east"], &[])];
        let all: Vec<_> = all.iter().collect();
        let names = |layout: &Layout<'_>| {
            layout.exporters.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&Layout::of(&all, &[])), ["east", "west"]);
        assert!(Layout::of(&[], &[]).exporters.is_empty());
    }
}
