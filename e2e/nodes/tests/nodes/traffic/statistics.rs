//! Whether counts fit shares.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use fleet_nodes::load::Tally;

/// An error unless the count of each cluster is within three standard deviations of its share.
pub(super) fn fits(tally: &Tally, shares: &BTreeMap<String, usize>) -> Result<()> {
    let whole: usize = shares.values().sum();
    let calls = number(usize::try_from(tally.answered())?);
    for cluster in tally.by_cluster().keys() {
        ensure!(
            shares.contains_key(cluster),
            "{cluster} answers, although its share is 0: {tally}"
        );
    }
    for (cluster, part) in shares {
        let share = number(*part) / number(whole.max(1));
        let count = number(usize::try_from(tally.of(cluster))?);
        let deviation = (calls * share * (1.0 - share)).sqrt();
        let distance = (count - calls * share).abs();
        ensure!(
            distance <= 3.0 * deviation,
            "{cluster} has {count} of {calls}, and a share of {part} of {whole}"
        );
    }
    Ok(())
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
