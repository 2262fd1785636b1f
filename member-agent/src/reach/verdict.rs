//! What the results mean, for each pair of a Service and an exporter.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_api::multicluster::ReachHop;

use super::cell::{Cell, Imported, Target};
use super::evidence::Evidence;
use super::prober::Prober;

/// What is known of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is reached.
    Reached,
    /// It is not, or not all of it.
    Stops(Stop),
    /// There is no result yet.
    Unknown,
    /// There is nothing to dial: no port of TCP, or no ready endpoint.
    NotDialled,
}

/// Where a cell stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) hop: ReachHop,
    pub(crate) since: Duration,
    pub(crate) detail: String,
}

/// The verdict on each cell.
pub(crate) fn verdicts(prober: &Prober) -> BTreeMap<&Cell, Verdict> {
    let cells = &prober.targets().cells;
    let answers = answers_by_exporter(prober);
    let mut verdicts = BTreeMap::new();
    for (cell, endpoints) in cells {
        let verdict = if endpoints.is_empty() {
            Verdict::NotDialled
        } else {
            of_endpoints(prober, cell, answers.get(&cell.exporter).copied())
        };
        verdicts.insert(cell, verdict);
    }
    blame_fronts(prober, &mut verdicts);
    verdicts
}

/// When each exporter has answered last, with any Service.
fn answers_by_exporter(prober: &Prober) -> BTreeMap<&Arc<str>, Duration> {
    let mut answers = BTreeMap::new();
    for cell in prober.targets().cells.keys() {
        if let Some(answered) = evidence(prober, cell).and_then(Evidence::answered) {
            let last = answers.entry(&cell.exporter).or_insert(answered);
            *last = answered.max(*last);
        }
    }
    answers
}

fn evidence<'a>(prober: &'a Prober, cell: &Cell) -> Option<&'a Evidence> {
    prober.evidence(&Target::Endpoints(cell.clone()))
}

fn of_endpoints(prober: &Prober, cell: &Cell, answered: Option<Duration>) -> Verdict {
    let Some(evidence) = evidence(prober, cell).filter(|it| it.is_known()) else {
        return Verdict::Unknown;
    };
    if let Some(since) = evidence.unreached() {
        // A host that answers is reached, and where any endpoint of the exporter has answered since, so is the exporter. An own answer
        // shows it as soon as something else fails: without that the target is about to be reached again.
        let shows = answered != evidence.answered() || evidence.last().is_some();
        let is_one = evidence.is_refused() || (shows && answered > Some(since));
        let hop = if is_one { ReachHop::Endpoint } else { ReachHop::Route };
        return Verdict::Stops(Stop { hop, since, detail: last(evidence) });
    }
    match evidence.single() {
        Some((to, since, outcome)) => {
            let detail = format!("of several endpoints {to}: {outcome}");
            Verdict::Stops(Stop { hop: ReachHop::Endpoint, since, detail })
        }
        None => Verdict::Reached,
    }
}

fn last(evidence: &Evidence) -> String {
    let last = evidence.last().map(|failure| format!("{}: {}", failure.to, failure.outcome));
    last.unwrap_or_else(|| "it has answered once since".to_owned())
}

/// A connection to the address of a Service goes to an endpoint of any exporter: it shows something about the address only where all of them
/// are reached. The same is true of a name, whose address has no answer.
fn blame_fronts(prober: &Prober, verdicts: &mut BTreeMap<&Cell, Verdict>) {
    let mut sound = BTreeMap::<&Imported, bool>::new();
    for (cell, verdict) in &*verdicts {
        let is_sound = matches!(verdict, Verdict::Reached | Verdict::NotDialled);
        *sound.entry(&cell.imported).or_insert(true) &= is_sound;
    }
    let sound = sound.into_iter().filter(|(_, is_sound)| *is_sound);
    let stops: BTreeMap<_, _> =
        sound.filter_map(|(imported, _)| Some((imported, front(prober, imported)?))).collect();
    for (cell, verdict) in verdicts {
        if let Some(stop) = stops.get(&cell.imported).filter(|_| *verdict == Verdict::Reached) {
            *verdict = Verdict::Stops(stop.clone());
        }
    }
}

/// Where what clients use stops: an address first, since a name is of no use without.
fn front(prober: &Prober, imported: &Imported) -> Option<Stop> {
    let fronts = [
        (Target::Address(imported.clone()), ReachHop::Address),
        (Target::Name(imported.clone()), ReachHop::Name),
    ];
    fronts.iter().find_map(|(target, hop)| {
        let evidence = prober.evidence(target)?;
        Some(Stop { hop: *hop, since: evidence.unreached()?, detail: last(evidence) })
    })
}
