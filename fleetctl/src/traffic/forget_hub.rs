//! Lets a member forget which hub it followed: what the present one lacks counts as withdrawn again, within the ordinary limits.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::one_line;
use fleet_api::kinds;
use fleet_api::traffic::FOLLOWED;
use fleet_runtime::clock::Clock;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::args::ForgetArgs;
use crate::args::Cli;
use crate::leave_local::LEASE;
use crate::objects::{api, find};
use crate::output::report;

/// Runs the command, with access to the member alone: its hub may be gone.
pub(crate) async fn forget_hub(cli: &Cli, args: &ForgetArgs) -> Result<ExitCode> {
    let member = &args.forgotten;
    let named = cli.access.members.iter().find(|(name, _)| name == member);
    let context = named.map_or(member, |(_, context)| context);
    let access = crate::access::Access { hub_context: Some(context.clone()), ..cli.access.clone() };
    let own = access.contexts()?.connect(context).await?.write;
    let namespace = args.system_namespace.as_str();
    let lease = find(&own, kinds::LEASE, Some(namespace), LEASE).await?;
    let lease = lease.with_context(|| {
        format!(
            "{member} has no Lease {namespace}/{LEASE}: agents without leader election forget which hub they followed when they \
             are restarted"
        )
    })?;
    if !follows(lease.annotations().get(FOLLOWED).map(String::as_str)) {
        report(&format!("{member} follows no hub"));
        return Ok(ExitCode::SUCCESS);
    }
    // Not absent: the agent that renews the Lease takes what is absent for what it has yet to write.
    let note = replacement(Clock::system().now());
    let patch = json!({ "metadata": { "annotations": { FOLLOWED: note } } });
    let leases = api(own, kinds::LEASE, Some(namespace));
    if let Err(error) = leases.patch(LEASE, &PatchParams::default(), &Patch::Merge(patch)).await {
        bail!("write the Lease {namespace}/{LEASE}: {}", one_line(&error));
    }
    report(&format!(
        "{member} forgets which hub it followed: what its present hub lacks is withdrawn there, within the limits of the mass \
         deletion guard"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Whether a note is an incarnation, which has a slash, and not what stands for one.
fn follows(note: Option<&str>) -> bool {
    note.is_some_and(|note| note.contains('/'))
}

/// What stands in the Lease for no hub. An agent ignores what it has read before, so that it is another one each time.
fn replacement(now: Timestamp) -> String {
    format!("forget {now}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_replacement_is_new_and_no_hub() {
        let [first, second] = [0, 1]
            .map(|nanosecond| replacement(Timestamp::new(1_800_000_000, nanosecond).unwrap()));
        assert_ne!(first, second);
        assert!(!follows(Some(&first)) && !follows(Some("")) && !follows(None));
        assert!(follows(Some("5f0c/0")));
    }
}
