//! Endpoint changes without a pause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::time::{MissedTickBehavior, interval};

use crate::members::next_address_of;
use crate::part::Part;
use crate::services::{Exported, MOVING, Services};

/// Time between two changes, which is a load and no wait for anything.
fn pace(part: Part) -> Duration {
    Duration::from_millis(match part {
        Part::Agent(_) | Part::Pods => 25,
        // Helm takes seconds, and longer the busier the API servers are.
        Part::Charts | Part::Additions => 150,
    })
}

/// Changes the moving Services one after the other while a part is replaced, until the flag is set; the number of changes.
pub(crate) async fn change_until(
    services: &mut Services,
    part: Part,
    done: &AtomicBool,
) -> Result<usize> {
    let mut pace = interval(pace(part));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut count = 0;
    while !done.load(Ordering::Relaxed) {
        let moving = services.exported.iter_mut().filter(|one| one.namespace == MOVING);
        for exported in moving {
            pace.tick().await;
            change(exported).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// Replaces an address, adds a slice, replaces an address again, removes the slice; and so on.
async fn change(exported: &mut Exported) -> Result<()> {
    let slice = format!("{}-more", exported.name);
    let number = exported.changes;
    exported.changes += 1;
    if number.is_multiple_of(2) {
        let fresh = next_address_of(exported.member);
        let addresses: Vec<_> = exported.kept.iter().chain([&fresh]).cloned().collect();
        exported.replaced = Some(fresh);
        return exported.service.set_addresses(&addresses).await;
    }
    if exported.added.take().is_some() {
        return exported.service.remove_slice(&slice).await;
    }
    let fresh = next_address_of(exported.member);
    exported.service.add_slice(&slice, std::slice::from_ref(&fresh)).await?;
    exported.added = Some(fresh);
    Ok(())
}
