/// How many of `ready` endpoints are last resort at `percent`: rounded up, so that a drain of one endpoint begins with its first
/// step. Percentages above 100 count as 100.
pub fn last_resort_of(percent: u8, ready: usize) -> usize {
    (ready * usize::from(percent.min(100))).div_ceil(100)
}
