//! The members of the fleet, and the addresses of their endpoints.

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Clusters with agents of this project.
pub(crate) const MEMBERS: [&str; 2] = ["east", "west"];

/// A member of Go agents. It has no cluster: its objects on the hub stand for it.
pub(crate) const NORTH: &str = "north";

/// The ranges of their endpoints, north's last: Pods run in other members only where no two ranges overlap. Services have addresses
/// outside of them, and nodes that are played have some in west's.
pub(crate) const RANGES: [&str; 3] = ["10.128.0.0/10", "10.192.0.0/10", "172.16.0.0/12"];

/// Position of north among the ranges.
pub(crate) const OF_NORTH: usize = MEMBERS.len();

/// Longest time that anything may take which takes milliseconds on an idle machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// Returns another address in the range of a member each time.
pub(crate) fn next_address_of(member: usize) -> String {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    let [high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let [first, second] = [[10, 128], [10, 192], [172, 16]][member];
    format!("{first}.{second}.{high}.{low}")
}
