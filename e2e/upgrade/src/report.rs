//! The table of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::findings::Writes;
use crate::part::{Direction, Part};
use crate::step::Step;

/// Steps of one kind together.
#[derive(Debug, Default)]
struct Row {
    steps: u32,
    total: Duration,
    longest: Duration,
    changes: usize,
    of_slices: usize,
    at_rest: usize,
    most: usize,
}

/// A row for each part and direction.
pub(crate) fn table(steps: &[Step], writes: &[(Writes, usize)]) -> String {
    let mut rows: BTreeMap<(Part, Direction), Row> = BTreeMap::new();
    for (step, (at_rest, of_slices)) in steps.iter().zip(writes) {
        let row = rows.entry((step.part, step.direction)).or_default();
        row.steps += 1;
        row.total += step.duration();
        row.longest = row.longest.max(step.duration());
        row.changes += step.changes;
        row.of_slices += of_slices;
        row.at_rest += at_rest.values().sum::<usize>();
        row.most = row.most.max(at_rest.values().copied().max().unwrap_or_default());
    }
    let mut text = String::from(
        "| replaced | direction | times | seconds, mean and longest | endpoint changes | writes for them | \
         other writes | most per object |\n|---|---|---|---|---|---|---|---|\n",
    );
    for ((part, direction), row) in rows {
        let Row { steps, total, longest, changes, of_slices, at_rest, most } = row;
        let (mean, longest) = ((total / steps).as_secs_f64(), longest.as_secs_f64());
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {part} | {direction} | {steps} | {mean:.1}, {longest:.1} | {changes} | {of_slices} | {at_rest} | {most} |"
        );
    }
    text
}

/// Objects that rested and were written, each with the most writes in one way there or back; but for what comes and goes with the
/// additions.
pub(crate) fn written(steps: &[Step], writes: &[(Writes, usize)]) -> BTreeMap<String, usize> {
    let mut of_rolls: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let counted = steps.iter().zip(writes).filter(|(step, _)| step.part != Part::Additions);
    for (step, (at_rest, _)) in counted {
        for (object, count) in at_rest {
            *of_rolls.entry((step.roll, object)).or_default() += count;
        }
    }
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for ((_, object), count) in of_rolls {
        let known = most.entry(object.to_owned()).or_default();
        *known = count.max(*known);
    }
    most
}
