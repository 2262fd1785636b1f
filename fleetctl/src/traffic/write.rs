//! Changes the spec of a `MemberTraffic`.

use anyhow::{Result, bail};
use fleet_accumulator::one_line;
use fleet_api::kinds;
use fleet_api::traffic::{DrainRequest, MemberTraffic, MemberTrafficSpec, MemberTrafficStatus};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

/// How often a write is repeated that another one has overtaken.
const ATTEMPTS: usize = 5;

/// Reads the object, changes its spec, and writes it if nothing was written meanwhile; else once more.
pub(super) async fn change(
    hub: &Client,
    member: &str,
    change: impl Fn(&mut MemberTrafficSpec, &MemberTrafficStatus),
) -> Result<MemberTraffic> {
    let objects: Api<MemberTraffic> = Api::all(hub.clone());
    for _ in 0..ATTEMPTS {
        let found = read(hub, member).await?;
        let mut spec = found.spec.clone();
        change(&mut spec, &found.status.clone().unwrap_or_default());
        let version = found.metadata.resource_version.clone();
        let patch = json!({ "metadata": { "resourceVersion": version }, "spec": {
            "drains": spec.drains, "silence": spec.silence,
            "forgottenIn": spec.forgotten_in } });
        match objects.patch(member, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(written) => return Ok(written),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => {
                bail!("write {} {member}: {}", kinds::MEMBER_TRAFFIC.kind, one_line(&error))
            }
        }
    }
    bail!("{} {member} is written all the time: try again", kinds::MEMBER_TRAFFIC.kind)
}

/// Reads the object.
pub(super) async fn read(hub: &Client, member: &str) -> Result<MemberTraffic> {
    let objects: Api<MemberTraffic> = Api::all(hub.clone());
    match objects.get(member).await {
        Ok(found) => Ok(found),
        Err(kube::Error::Api(status)) if status.code == 404 => bail!(
            "the hub has no MemberTraffic {member}: there is no such member, or its Lease is not renewed, or the hub agent does \
             not decide about traffic (traffic.enabled of its chart)"
        ),
        Err(error) => bail!("read {} {member}: {}", kinds::MEMBER_TRAFFIC.kind, one_line(&error)),
    }
}

/// Puts requests in the place of those for the same Services. Those that are done and asked for nothing go, also if they are asked for
/// again: importers know by a change that an administrator has decided.
pub(crate) fn request(
    spec: &mut MemberTrafficSpec,
    status: &MemberTrafficStatus,
    requests: &[DrainRequest],
) {
    let is_new = |service: &str| requests.iter().any(|request| request.service == service);
    let is_there = |service: &str| status.drains.iter().any(|drain| drain.service == service);
    let before = spec.drains.clone();
    spec.drains
        .retain(|drain| !is_new(&drain.service) && (drain.percent > 0 || is_there(&drain.service)));
    let is_over = |request: &&DrainRequest| {
        request.percent == 0 && !is_there(&request.service) && before.contains(request)
    };
    spec.drains.extend(requests.iter().filter(|request| !is_over(request)).cloned());
}

#[cfg(test)]
mod tests {
    use fleet_api::traffic::DrainStatus;

    use super::*;

    fn drain(service: &str, percent: i64) -> DrainRequest {
        DrainRequest { service: service.to_owned(), percent, ..DrainRequest::default() }
    }

    #[test]
    fn a_request_replaces_that_for_the_same_service() {
        let mut spec = MemberTrafficSpec {
            drains: vec![drain("*", 100), drain("a/b", 100)],
            ..MemberTrafficSpec::default()
        };
        let status = MemberTrafficStatus::default();
        request(&mut spec, &status, &[drain("*", 0)]);
        assert_eq!(spec.drains, [drain("a/b", 100), drain("*", 0)]);
    }

    #[test]
    fn an_end_that_is_asked_for_again_changes_something() {
        let (mut spec, status) = (MemberTrafficSpec::default(), MemberTrafficStatus::default());
        for expected in [1, 0, 1] {
            request(&mut spec, &status, &[drain("*", 0)]);
            assert_eq!(spec.drains.len(), expected);
        }
    }

    #[test]
    fn what_is_over_goes_and_what_returns_stays() {
        let mut spec = MemberTrafficSpec {
            drains: vec![drain("a/over", 0), drain("a/returns", 0)],
            ..MemberTrafficSpec::default()
        };
        let returns = DrainStatus { service: "a/returns".to_owned(), ..DrainStatus::default() };
        let status =
            MemberTrafficStatus { drains: vec![returns], ..MemberTrafficStatus::default() };
        request(&mut spec, &status, &[drain("*", 100)]);
        assert_eq!(spec.drains, [drain("a/returns", 0), drain("*", 100)]);
    }
}
