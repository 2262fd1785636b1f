//! Finds out what would become of the fleet: rehearses it with and without the action, and compares.

use std::time::Duration;

use anyhow::{Result, bail};
use fleet_api::kinds;

use super::action::{Action, show_lost};
use super::answer::Answer;
use super::compare;
use super::rehearsal::Rehearsal;
use super::time;
use super::traffic::traffic;
use crate::picture::Picture;
use crate::recorded::FleetObjects;

/// Time after which agents are at rest that have just begun.
const WARM_UP: Duration = Duration::from_mins(1);

/// What an action would do to a fleet, and the fleet afterwards.
///
/// # Errors
/// If it cannot be done to this fleet, `fleetctl` would refuse it, or the hub was not read as a whole; the message is one line.
pub fn what_if(fleet: &FleetObjects, action: &Action) -> Result<(Answer, Picture)> {
    check_hub(fleet)?;
    let (mut as_it_is, mut changed) = (Rehearsal::new(fleet), Rehearsal::new(fleet));
    // The agents may be in the middle of something, which is no consequence of the action, and decide by what they remember.
    as_it_is.run(WARM_UP);
    changed.run(WARM_UP);
    let before = changed.picture();
    action.act(&mut changed)?;
    let time = time::after(action, &changed.limits());
    as_it_is.run(time);
    changed.run(time);
    let objects = compare::changes(&as_it_is, &changed);
    show_lost(&mut changed);
    let after = changed.picture();
    let traffic = traffic(&before, &after, changed.lost());
    let mut without: Vec<_> =
        traffic.iter().filter(|it| it.without).map(|it| it.service.clone()).collect();
    without.dedup();
    let is_unread = |name: &String| {
        let objects = fleet.members.get(name).map(|member| member.objects.unread());
        objects.is_none_or(|unread| !unread.is_empty())
    };
    let unread =
        after.members.iter().filter(|(name, member)| member.blind.is_some() || is_unread(name));
    let answer = Answer {
        action: action.to_string(),
        changes: objects,
        traffic,
        without_endpoints: without,
        unread: unread.map(|(name, _)| name.clone()).collect(),
    };
    // Ages are those of now.
    Ok((answer, Picture { now: fleet.at, heard: fleet.at, ..after }))
}

/// All members depend on the hub: nothing is concluded from the absence of what was not read there.
fn check_hub(fleet: &FleetObjects) -> Result<()> {
    let mut unread = fleet.hub.unread();
    // Nothing is decided by what members reach.
    unread.retain(|(kind, _)| kind != kinds::REACH_REPORT.resource());
    if let Some((_, reason)) = unread.first() {
        let kinds: Vec<_> = unread.iter().map(|(kind, _)| kind.as_str()).collect();
        bail!("the hub's {} could not be read: {reason}", kinds.join(", "));
    }
    Ok(())
}
