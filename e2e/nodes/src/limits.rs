//! Limits of the kernel that are too low for several clusters on one machine.

use std::fs;

use anyhow::{Context, Result};

/// How many objects that report changes of files a user may have. A kubelet, a containerd and an API server have several each, and
/// a kubelet that gets none ends.
const INOTIFY_INSTANCES: &str = "/proc/sys/fs/inotify/max_user_instances";
/// Enough for a hundred of them; Debian has 128.
const ENOUGH: u64 = 1024;

/// Raises what is too low, until the machine starts again. Needs root.
///
/// # Errors
/// Where the kernel's settings cannot be written, with what to write.
pub fn raise() -> Result<()> {
    let most = fs::read_to_string(INOTIFY_INSTANCES).context(INOTIFY_INSTANCES)?;
    if most.trim().parse::<u64>().is_ok_and(|most| most >= ENOUGH) {
        return Ok(());
    }
    fs::write(INOTIFY_INSTANCES, ENOUGH.to_string()).with_context(|| {
        format!(
            "nodes need more than {} inotify instances, and this container may not raise them; on the machine: \
            sysctl fs.inotify.max_user_instances={ENOUGH}",
            most.trim()
        )
    })
}
