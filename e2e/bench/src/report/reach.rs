//! What the bench found of the proof of reachability.

use std::ops::RangeInclusive;

use serde::Serialize;

use super::row::Row;

/// The numbers.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Reach {
    /// Percent of a core that an importing member's agent needs without dialling.
    pub(crate) silent_cpu_percent: f64,
    /// The same while it dials.
    pub(crate) dialling_cpu_percent: f64,
    pub(crate) dials_per_second: f64,
}

/// Limits: percent of a core for the dials alone, and dials a second. With fewer than it may make, an agent costs less and is late.
const CPU: f64 = 0.5;
/// A period that begins right before a dial and ends right after one has one more.
const RATE: RangeInclusive<f64> = 4.5..=5.05;

impl Reach {
    pub(super) fn rows(&self) -> [Row; 3] {
        let Self { silent_cpu_percent: silent, dialling_cpu_percent: dialling, .. } = *self;
        let rate = self.dials_per_second;
        let cost = dialling - silent;
        let both = format!("{dialling:.2} / {silent:.2} %");
        [
            Row::new("reach: member agent, dialling / not", both),
            Row::new("reach: the dials, of a core", format!("{cost:.2} %"))
                .limit(cost <= CPU, format!("{CPU} %")),
            Row::new("reach: dials a second", format!("{rate:.2}"))
                .limit(RATE.contains(&rate), "4.5 to 5".to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(dialling_cpu_percent: f64, dials_per_second: f64) -> Vec<String> {
        let found = Reach { silent_cpu_percent: 0.1, dialling_cpu_percent, dials_per_second };
        let rows = found.rows().into_iter().filter(|row| row.met == Some(false));
        rows.map(|row| row.name).collect()
    }

    #[test]
    fn the_difference_and_the_rate_have_limits() {
        assert!(missed(0.59, 5.01).is_empty());
        assert_eq!(missed(0.61, 5.0), ["reach: the dials, of a core"]);
        assert_eq!(missed(0.2, 5.1), ["reach: dials a second"]);
        assert_eq!(missed(0.2, 2.8), ["reach: dials a second"]);
    }
}
