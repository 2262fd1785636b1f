//! How many API writes each operation costs, from the audit logs (docs/design/rules.md#write-protocol).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_testbed::agents::Agents;
use fleet_testbed::audit::{Write, WriteMeter};
use fleet_testbed::exchange::{export, import, unexport, unimport, wait_gone};
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};

use crate::stage::{Crossing, DEADLINE, IMPORTER, SECOND_IMPORTER, Stage, accepted, condition};
use crate::tests::Tests;

/// Longer than the half second after which "waiting" is written.
const QUIET: Duration = Duration::from_millis(1200);

/// An exchange that takes longer than this may report "waiting" to the user meanwhile, which are further writes.
const PROMPT: Duration = Duration::from_millis(450);

/// How often an exchange may take too long before further writes of a status are left out of the count.
const ATTEMPTS: usize = 3;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // Existing clusters do not show their audit logs.
    }
    tests.alone("writes::export_then_import", export_then_import);
    tests.alone("writes::export_and_import_together", export_and_import_together);
    tests.alone("writes::an_endpoint_change", an_endpoint_change);
    tests.alone("writes::what_is_not_exported", what_is_not_exported);
    tests.alone("writes::unexport", unexport_writes);
    tests.alone("writes::end_of_an_import", end_of_an_import);
}

/// Writes of one operation.
struct Count {
    meter: WriteMeter,
    operation: &'static str,
}

impl Count {
    /// Starts when nothing else is being written.
    async fn start(stage: &Stage, operation: &'static str) -> Result<Self> {
        let mut meter = WriteMeter::start(stage)?;
        meter.wait_quiet(QUIET, DEADLINE).await?;
        meter.take()?;
        Ok(Self { meter, operation })
    }

    async fn settle(&mut self) -> Result<()> {
        self.meter.wait_quiet(QUIET, DEADLINE).await.context(self.operation)
    }

    /// Waits for the end; an error unless this many were written, all accepted and none to a user's slice.
    async fn expect(&mut self, expected: usize) -> Result<()> {
        self.settle().await?;
        self.judge(expected, |writes| writes.len() == expected)
    }

    /// The same after an exchange that was so slow that its status had that meanwhile: statuses may have been written more than once.
    fn expect_slow(&mut self, expected: usize) -> Result<()> {
        self.judge(expected, |writes| {
            let statuses = || writes.iter().filter(|(_, one)| one.resource.ends_with("/status"));
            let written: BTreeSet<_> =
                statuses().map(|(cluster, one)| (cluster, &one.resource, &one.object)).collect();
            let again = statuses().count() - written.len();
            (writes.len() - again..=writes.len()).contains(&expected)
        })
    }

    fn judge(&mut self, expected: usize, fits: impl Fn(&[(String, Write)]) -> bool) -> Result<()> {
        let counts = self.meter.counts()?.clone();
        let writes = self.meter.writes();
        ensure!(
            fits(writes) && counts.refused() == 0 && counts.failed() == 0,
            "{}: {expected} writes expected, not\n{}",
            self.operation,
            writes
                .iter()
                .map(|(cluster, write)| format!(
                    "{cluster}: {} {} {} {}",
                    write.code, write.verb, write.resource, write.object
                ))
                .collect::<Vec<_>>()
                .join("\n")
        );
        let system = format!("{SYSTEM_NAMESPACE}/");
        let foreign = writes.iter().find(|(_, write)| {
            write.resource == "endpointslices" && !write.object.starts_with(&system)
        });
        ensure!(foreign.is_none(), "{}: a user's slice was written: {foreign:?}", self.operation);
        self.meter.take()?;
        Ok(())
    }
}

/// Takes an attempt again that was not prompt and counted something else for that reason.
async fn promptly(
    what: &str,
    expected: usize,
    mut attempt: impl AsyncFnMut() -> Result<(Duration, Count)>,
) -> Result<()> {
    for left in (0..ATTEMPTS).rev() {
        let (took, mut count) = attempt().await?;
        let exact = count.expect(expected).await;
        if took < PROMPT || exact.is_ok() {
            return exact;
        }
        eprintln!("{what} took {took:?}, so that the status said so");
        if left == 0 {
            return count.expect_slow(expected);
        }
    }
    Ok(())
}

async fn export_then_import(stage: &Stage, _: &mut Agents) -> Result<()> {
    promptly("an exchange", 17, async || {
        let mut count = Count::start(stage, "export, then import").await?;
        let begin = Instant::now();
        let namespace = stage.namespace("first").await?;
        let crossing = stage.exported(&namespace, "web").await?;
        accepted(stage, crossing.key()).await?;
        let exported = begin.elapsed();
        count.settle().await?;
        let begin = Instant::now();
        import(stage.importer(), &namespace, "web", "web").await?;
        valid(stage, &crossing).await?;
        Ok((exported.max(begin.elapsed()), count))
    })
    .await
}

async fn export_and_import_together(stage: &Stage, _: &mut Agents) -> Result<()> {
    promptly("an exchange", 17, async || {
        let namespace = stage.namespace("together").await?;
        let spec = ServiceSpec::http(&namespace, "web");
        ManualService::deploy(stage.exporter(), &spec, &[next_address()]).await?;
        let count = Count::start(stage, "import, with the export just after").await?;
        let begin = Instant::now();
        import(stage.importer(), &namespace, "web", "web").await?;
        export(stage.exporter(), &namespace, "web").await?;
        let key = (namespace.as_str(), "web");
        let mcs = kinds::MULTI_CLUSTER_SERVICE;
        condition(stage.importer(), mcs, key, ("Valid", "True")).await?;
        accepted(stage, key).await?;
        Ok((begin.elapsed(), count))
    })
    .await
}

async fn valid(stage: &Stage, crossing: &Crossing<'_>) -> Result<()> {
    let mcs = kinds::MULTI_CLUSTER_SERVICE;
    condition(stage.importer(), mcs, crossing.key(), ("Valid", "True")).await?;
    Ok(())
}

async fn an_endpoint_change(stage: &Stage, _: &mut Agents) -> Result<()> {
    for importers in [&[IMPORTER][..], &[IMPORTER, SECOND_IMPORTER]] {
        let mut crossing = stage.crossing("change", importers).await?;
        let mut count = Count::start(stage, "an endpoint change").await?;
        for addresses in [2, 1, 3] {
            crossing.change(addresses).await?;
            crossing.arrived().await?;
            count.expect(1 + 2 * importers.len()).await?;
        }
        crossing.withdraw().await?;
    }
    Ok(())
}

/// Changes of a Service and its slices that importers cannot see.
async fn what_is_not_exported(stage: &Stage, _: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("inner", &[IMPORTER]).await?;
    let mut count = Count::start(stage, "a change that exports nothing else").await?;
    let (exporter, key) = (stage.exporter(), crossing.key());
    let note = serde_json::json!({ "metadata": { "labels": { "note": "x" } } });
    for kind in [kinds::ENDPOINT_SLICE, kinds::SERVICE, kinds::SERVICE_EXPORT] {
        fleet_testbed::objects::edit(exporter, kind, key, note.clone()).await?;
    }
    let unready = serde_json::json!({ "endpoints": crossing.addresses.iter().map(|address| {
        serde_json::json!({ "addresses": [address] })
    }).chain([
        serde_json::json!({ "addresses": ["192.0.2.9"], "conditions": { "ready": false } }),
    ]).collect::<Vec<_>>() });
    fleet_testbed::objects::edit(exporter, kinds::ENDPOINT_SLICE, key, unready).await?;
    let importer = stage.importer();
    fleet_testbed::objects::edit(importer, kinds::MULTI_CLUSTER_SERVICE, key, note).await?;
    count.expect(0).await?;
    crossing.change(1).await?;
    crossing.arrived().await?;
    count.expect(3).await?;
    crossing.withdraw().await
}

async fn unexport_writes(stage: &Stage, _: &mut Agents) -> Result<()> {
    let crossing = stage.crossing("withdrawn", &[IMPORTER]).await?;
    let mut count = Count::start(stage, "unexport").await?;
    unexport(stage.exporter(), &crossing.namespace, "web").await?;
    let kind = kinds::SERVICE_EXPORT;
    wait_gone(stage.exporter(), kind, &crossing.namespace, "web", DEADLINE).await?;
    count.expect(14).await?;
    unimport(stage.importer(), &crossing.namespace, "web").await?;
    stage.nothing_left(&crossing.namespace).await
}

async fn end_of_an_import(stage: &Stage, _: &mut Agents) -> Result<()> {
    for slices in [1, 2] {
        let mut crossing = stage.crossing("ended", &[IMPORTER]).await?;
        for number in 1..slices {
            let address = next_address();
            let name = format!("web-{number}");
            crossing.service.add_slice(&name, std::slice::from_ref(&address)).await?;
            crossing.addresses.insert(address);
        }
        crossing.arrived().await?;
        let mut count = Count::start(stage, "the end of an import").await?;
        unimport(stage.importer(), &crossing.namespace, "web").await?;
        let mcs = kinds::MULTI_CLUSTER_SERVICE;
        wait_gone(stage.importer(), mcs, &crossing.namespace, "web", DEADLINE).await?;
        count.expect(7 + 3 * slices).await?;
        unexport(stage.exporter(), &crossing.namespace, "web").await?;
        stage.nothing_left(&crossing.namespace).await?;
    }
    Ok(())
}
