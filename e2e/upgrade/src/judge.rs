//! What is required of a run.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_oracle::record::Micros;
use fleet_oracle::requests::Author;
use fleet_oracle::{Recording, Violation, stories};

use crate::findings::{
    Kept, Writes, lost_endpoints, moved_addresses, rejected, with_address, withdrawn, writes,
};
use crate::gomade::{DERIVED, DESK, GO_MADE};
use crate::part::EAST;
use crate::report::{table, written};
use crate::roll::Rollout;
use crate::step::Step;

/// What was done, and what must have stayed.
#[derive(Debug)]
pub(crate) struct Run {
    begin: Micros,
    steps: Vec<Step>,
    kept: Vec<Kept>,
}

/// What the record shows of it.
#[derive(Debug)]
pub(crate) struct Judgement {
    steps: Vec<Step>,
    writes: Vec<(Writes, usize)>,
    addresses: usize,
    /// What must not be, by the rule that it breaks.
    violations: BTreeMap<&'static str, Vec<String>>,
    oracle: fleet_oracle::Verdict,
    stories: String,
}

impl Run {
    pub(crate) fn of(rollout: &Rollout<'_>, begin: Micros) -> Self {
        let Rollout { fleet, services, go_made, steps, added, .. } = rollout;
        let kept = services.imported.iter().map(|one| Kept {
            cluster: fleet.member(one.member).name().to_owned(),
            namespace: SYSTEM_NAMESPACE.to_owned(),
            derived: one.derived.clone(),
            addresses: services.kept(one.namespace, one.name),
            from: begin,
            until: Micros::MAX,
        });
        let desk = Kept {
            cluster: fleet.member(EAST).name().to_owned(),
            namespace: SYSTEM_NAMESPACE.to_owned(),
            derived: DERIVED.to_owned(),
            addresses: go_made.kept.iter().cloned().collect(),
            from: begin,
            until: Micros::MAX,
        };
        let kept = kept.chain([desk]).chain(added.iter().cloned());
        Self { begin, steps: steps.clone(), kept: kept.collect() }
    }

    pub(crate) fn judge(self, mut recording: Recording) -> Judgement {
        let Self { begin, steps, kept } = self;
        let writes = writes(&recording, &steps);
        let twice = written(&steps, &writes).into_iter().filter(|(_, count)| *count > 1);
        let rejected = rejected(&recording);
        // Not removed: the record knows requests by their places.
        for request in recording.requests.iter_mut().filter(|it| it.is_of_virtual_node()) {
            request.author = Author::Other;
        }
        let mut oracle = fleet_oracle::judge(&recording);
        oracle.violations.retain(|violation| !is_of_go(violation));
        let violations = [
            ("no endpoint is lost", lost_endpoints(&recording, &kept)),
            ("nothing is withdrawn", withdrawn(&recording, &steps, begin)),
            ("no address changes", moved_addresses(&recording, begin)),
            ("no request is rejected", rejected),
            (
                "at most one write per object",
                twice.map(|(object, count)| format!("{object}: {count} in one roll")).collect(),
            ),
            ("the oracle", oracle.violations.iter().map(ToString::to_string).collect()),
        ];
        Judgement {
            addresses: with_address(&recording),
            violations: violations.into_iter().filter(|(_, found)| !found.is_empty()).collect(),
            stories: stories(&recording, &oracle),
            steps,
            writes,
            oracle,
        }
    }
}

/// North has no cluster, so that the oracle finds the endpoints that it exports in none.
fn is_of_go(violation: &Violation) -> bool {
    violation.object == format!("MultiClusterService {GO_MADE}/{DESK}")
        && ["S02", "L1"].contains(&violation.invariant)
}

impl Judgement {
    /// An error if anything must not be.
    pub(crate) fn result(&self) -> Result<()> {
        ensure!(self.addresses > 0, "no derived Service has an address: nothing was tested");
        ensure!(!self.steps.is_empty(), "no step was taken");
        let rules: Vec<_> = self.violations.keys().copied().collect();
        ensure!(rules.is_empty(), "broken: {}", rules.join("; "));
        Ok(())
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More of a kind are rarely worth reading.
        const SHOWN: usize = 20;
        let Self { steps, writes, addresses, violations, oracle, stories } = self;
        f.write_str(stories)?;
        for (rule, found) in violations {
            writeln!(f, "BROKEN: {rule}, {} times", found.len())?;
            for one in found.iter().take(SHOWN) {
                writeln!(f, "  {one}")?;
            }
        }
        for (object, count) in written(steps, writes) {
            writeln!(f, "Written, at most {count} times in one roll: {object}")?;
        }
        writeln!(f, "\n{}", table(steps, writes))?;
        let (versions, requests, moments) = (oracle.versions, oracle.requests, oracle.moments);
        let changes: usize = steps.iter().map(|step| step.changes).sum();
        write!(
            f,
            "{} steps, {changes} endpoint changes, {addresses} derived Services with an address; {versions} versions, \
             {requests} requests of agents, {moments} quiescent moments.",
            steps.len()
        )
    }
}
