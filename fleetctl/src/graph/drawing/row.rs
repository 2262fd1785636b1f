//! Rows of the middle column: Services, or namespaces where there are too many.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::explain::words::since;
use crate::graph::shape::{Line, Node, Tone};
use crate::view::{Edge, Endpoints, Finding, ServiceView, View};

/// A Service, or several of them.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    label: String,
    services: usize,
    stopping: usize,
    /// The first finding.
    finding: Option<&'a Finding>,
    /// The verdict on the first Service.
    verdict: &'a str,
    pub(super) exporters: BTreeMap<&'a str, Sum<'a>>,
    pub(super) importers: BTreeMap<&'a str, Sum<'a>>,
}

/// One member's part in the Services of a row.
#[derive(Debug, Default)]
pub(super) struct Sum<'a> {
    services: usize,
    stopping: usize,
    endpoints: Endpoints,
    changed: Option<Timestamp>,
    finding: Option<&'a Finding>,
    tone: Tone,
}

/// At most `max` rows.
pub(super) fn rows(view: &View, max: usize) -> Vec<Row<'_>> {
    if view.services.len() <= max {
        return view.services.iter().map(|service| Row::of(name(service), [&**service])).collect();
    }
    let mut namespaces = BTreeMap::<&str, Vec<&ServiceView>>::new();
    for service in &view.services {
        namespaces.entry(&service.namespace).or_default().push(service);
    }
    let kept = if namespaces.len() > max { max - 1 } else { max };
    let others = namespaces.len().saturating_sub(kept);
    let mut namespaces = namespaces.into_iter();
    let first = namespaces.by_ref().take(kept);
    let mut rows: Vec<_> =
        first.map(|(name, services)| Row::of(format!("namespace {name}"), services)).collect();
    if others > 0 {
        let services = namespaces.flat_map(|(_, services)| services);
        rows.push(Row::of(format!("{others} other namespaces"), services));
    }
    rows
}

fn name(service: &ServiceView) -> String {
    format!("{}/{}", service.namespace, service.name)
}

impl<'a> Row<'a> {
    fn of(label: String, services: impl IntoIterator<Item = &'a ServiceView>) -> Self {
        let mut row = Self { label, ..Self::default() };
        for service in services {
            row.add(service);
        }
        row
    }

    fn add(&mut self, service: &'a ServiceView) {
        let first = service.findings().next();
        if self.services == 0 {
            self.verdict = &service.verdict;
        }
        self.services += 1;
        self.stopping += usize::from(first.is_some());
        self.finding = self.finding.or(first);
        for edge in &service.exporters {
            self.exporters.entry(&edge.member).or_default().add(edge);
        }
        for edge in &service.importers {
            self.importers.entry(&edge.member).or_default().add(edge);
        }
    }

    pub(super) fn node(self) -> Node {
        let tone = if self.stopping > 0 { Tone::Bad } else { Tone::Good };
        let cause = self.finding.map(|finding| format!("{:?}", finding.cause));
        let (note, detail) = match (self.services, self.stopping) {
            (1, _) => (cause.unwrap_or_else(|| "works".to_owned()), self.verdict.to_owned()),
            (all, 0) => (format!("{all} Services"), String::new()),
            (all, stopping) => (
                format!("{all} Services, {stopping} with a problem"),
                cause.map(|cause| format!("the first: {cause}")).unwrap_or_default(),
            ),
        };
        Node { label: self.label, note, detail, tone }
    }
}

impl<'a> Sum<'a> {
    fn add(&mut self, edge: &'a Edge) {
        self.services += 1;
        self.stopping += usize::from(edge.finding.is_some());
        self.endpoints = self.endpoints.and(edge.endpoints);
        self.changed = self.changed.max(edge.changed);
        self.finding = self.finding.or(edge.finding.as_ref());
        self.tone = self.tone.max(tone_of(edge));
    }

    pub(super) fn line(&self, member: usize, row: usize, at: Timestamp) -> Line {
        let (label, detail) = (self.label(), self.detail(at));
        Line { member, row, label, detail, tone: self.tone }
    }

    fn label(&self) -> String {
        let Endpoints { ready, draining } = self.endpoints;
        let draining = if draining > 0 { format!(", {draining} draining") } else { String::new() };
        let cause = match (self.finding, self.services) {
            (None, _) => String::new(),
            (Some(finding), 1) => format!(", {:?}", finding.cause),
            (Some(finding), all) => {
                format!(", {:?}, {} of {all} Services stop", finding.cause, self.stopping)
            }
        };
        format!("{ready} ready{draining}{cause}")
    }

    fn detail(&self, at: Timestamp) -> String {
        let changed = self.changed.map(|changed| format!("changed {} ago", since(changed, at)));
        let says = self.finding.map(|finding| finding.says.clone());
        let advice = self.finding.and_then(|finding| finding.advice.clone());
        changed.into_iter().chain(says).chain(advice).collect::<Vec<_>>().join("; ")
    }
}

/// How one member's part in a Service looks.
fn tone_of(edge: &Edge) -> Tone {
    match (&edge.finding, edge.endpoints.ready) {
        (Some(_), _) => Tone::Bad,
        (None, 0) => Tone::Odd,
        (None, _) => Tone::Good,
    }
}
