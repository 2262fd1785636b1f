//! Recordings of fleetctl, which may come from anywhere.

use std::path::PathBuf;

use fleet_api::{ObjectName, ResourceKind, kinds};
use fleetctl::recorded::{FleetObjects, Recording, Writer, load};
use fleetctl::{explain, status, view};
use jiff::Timestamp;
use proptest::prelude::*;

use crate::corpus::samples;
use crate::memory::bounded;
use crate::mutation::{Mutation, any_mutation, text};
use crate::runner::check;

const SEEDS: &str = "corpus/recordings.txt";
/// What no recording has.
const LEFT_OUT: [ResourceKind; 7] = [
    kinds::SECRET,
    kinds::POD,
    kinds::EXTERNAL_WORKLOAD,
    kinds::OFFLOAD_OFFER,
    kinds::VIRTUAL_NODE,
    kinds::POD_EXPORT,
    kinds::POD_IMPORT,
];

fn path(name: &str) -> PathBuf {
    let name = format!("{name}-{}", std::process::id());
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The corpus as a fleet, with changes of some of its objects.
fn fleet(mutations: &[(usize, Mutation)]) -> FleetObjects {
    let mut samples: Vec<_> =
        samples().into_iter().filter(|sample| !LEFT_OUT.contains(&sample.kind)).collect();
    let count = samples.len();
    for (at, mutation) in mutations {
        mutation.apply(&mut samples[at % count].object);
    }
    let mut fleet = FleetObjects::new("2026-01-01T00:30:00Z".parse().unwrap());
    for sample in samples {
        let member = || format!("m{:02}", sample.cluster - 1);
        let objects = match sample.cluster {
            0 => &mut fleet.hub,
            _ => &mut fleet.members.entry(member()).or_default().objects,
        };
        objects.insert(sample.kind, sample.name(), sample.object.to_string().into());
    }
    fleet
}

fn mutations() -> impl Strategy<Value = Vec<(usize, Mutation)>> {
    prop::collection::vec((any::<usize>(), any_mutation()), 0..6)
}

fn write(name: &str, frames: &[FleetObjects]) -> String {
    let path = path(name);
    std::fs::remove_file(&path).ok();
    let mut writer = Writer::create(&path).unwrap();
    for frame in frames {
        assert!(writer.add(frame).unwrap());
    }
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    text
}

fn read(name: &str, text: &[u8]) -> anyhow::Result<Recording> {
    let path = path(name);
    std::fs::write(&path, text).unwrap();
    let recording = load(&path);
    std::fs::remove_file(&path).unwrap();
    recording
}

/// Whatever is in the objects, each frame is what it was, and the commands that read it have an answer.
#[test]
fn a_recording_is_what_was_recorded() {
    check(SEEDS, 16, &(mutations(), mutations()), |(one, other)| {
        let mut frames = [fleet(&one), fleet(&other)];
        frames[1].at += jiff::SignedDuration::from_secs(1);
        let text = write("recorded", &frames);
        // It reads into several copies: text, value, and text again.
        let recording = bounded(text.len(), 24, || read("recorded", text.as_bytes()))?;
        let recording = recording.map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
        for (at, frame) in frames.iter().enumerate() {
            prop_assert_eq!(&recording.at(at), frame);
        }
        let picture = recording.at(1).picture();
        let status = status::status(&picture);
        let view = view::view(&picture, status, &[]);
        for service in [ObjectName::new("shop", "web"), ObjectName::new("team", "mail")] {
            explain(&picture, &service);
        }
        // An answer does not grow faster than what it is about.
        let answer = fleetctl::output::data(fleetctl::output::Format::Json, &view).unwrap();
        prop_assert!(answer.unwrap_or_default().len() < 8 * text.len());
        Ok(())
    });
}

/// Lines that were changed, cut or mixed are refused, or read; what was read is written and read the same.
#[test]
fn any_file_may_come_as_a_recording() {
    let whole = write("whole", &[fleet(&[])]);
    read("whole", whole.as_bytes()).unwrap();
    let lines: Vec<_> = whole.lines().map(str::to_owned).collect();
    let count = lines.len();
    let edits = prop::collection::vec((any::<usize>(), 0_u8..6, any::<usize>(), text()), 0..6);
    check(SEEDS, 48, &edits, |edits| {
        let mut lines = lines.clone();
        for (at, edit, other, text) in edits {
            let at = at % lines.len();
            match edit {
                0 => lines[at] = text,
                1 => {
                    let other = other % count.min(lines.len());
                    lines.swap(at, other);
                }
                2 => {
                    let end = lines[at].floor_char_boundary(other % 4000);
                    lines[at].truncate(end);
                }
                3 => lines.insert(at, lines[other % lines.len()].clone()),
                4 => lines[at] = lines[at].replacen("shop", &text.replace('"', ""), 2),
                _ => lines.truncate(at.max(1)),
            }
        }
        let text = lines.join("\n") + "\n";
        let Ok(recording) = bounded(text.len(), 24, || read("any", text.as_bytes()))? else {
            return Ok(());
        };
        let times = recording.times();
        prop_assert!(times.is_sorted() && !times.is_empty());
        let frames: Vec<_> = (0..times.len()).map(|at| recording.at(at)).collect();
        let again = read("any", write("again", &frames).as_bytes()).unwrap();
        for (at, frame) in frames.iter().enumerate() {
            prop_assert_eq!(&again.at(at), frame);
        }
        prop_assert!(recording.at(usize::MAX).at >= Timestamp::MIN);
        Ok(())
    });
}
