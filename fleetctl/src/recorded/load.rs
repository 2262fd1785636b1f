//! Reads a recording. Reading takes bounded memory, and what does not fit is refused: the file may have come from anywhere.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;

use super::change::Change;
use super::file::{
    Entry, Header, Kinds, MAX_FRAMES, MAX_LINE, MAX_MEMBERS, MAX_OBJECTS, MAX_SIZE, VERSION, entry,
};
use super::fleet::FleetObjects;
use super::touched::{Touched, Watcher};

/// A recording.
#[derive(Debug)]
pub struct Recording {
    hub_context: Option<String>,
    frames: Vec<Frame>,
}

#[derive(Debug)]
struct Frame {
    at: Timestamp,
    changes: Vec<Change>,
}

impl Recording {
    /// Times of its frames, one at least.
    pub fn times(&self) -> Vec<Timestamp> {
        self.frames.iter().map(|frame| frame.at).collect()
    }

    /// What frames have touched, by their numbers: of those after the first that have touched something.
    pub(crate) fn touched(&self) -> Vec<(usize, Touched)> {
        let mut watcher = Watcher::default();
        let frames = self.frames.iter().map(|frame| watcher.touched(&frame.changes));
        let frames = frames.enumerate().skip(1);
        frames.filter_map(|(number, touched)| Some((number, touched?))).collect()
    }

    /// The fleet in one frame; the last one, if there are not so many. Costs all changes until then.
    pub fn at(&self, index: usize) -> FleetObjects {
        let mut fleet = FleetObjects::new(Timestamp::UNIX_EPOCH);
        fleet.hub_context.clone_from(&self.hub_context);
        for frame in self.frames.iter().take(index.saturating_add(1)) {
            fleet.at = frame.at;
            frame.changes.iter().for_each(|change| fleet.apply(change));
        }
        fleet
    }
}

/// Reads a file.
///
/// # Errors
/// Why it is no recording, with the number of the line.
pub fn load(path: &Path) -> Result<Recording> {
    let named = || format!("{} is not a recording of fleetctl", path.display());
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    let kind = file.metadata().with_context(|| format!("open {}", path.display()))?;
    ensure!(kind.is_file(), "{} is not a file", path.display());
    ensure!(
        kind.len() <= MAX_SIZE,
        "{} has more than {} MiB, which is the limit of a recording",
        path.display(),
        MAX_SIZE >> 20
    );
    let mut lines = Lines { reader: BufReader::new(file.take(MAX_SIZE)), number: 0 };
    parse(&mut lines).with_context(|| format!("line {}", lines.number)).with_context(named)
}

fn parse(lines: &mut Lines) -> Result<Recording> {
    let first = lines.next()?.context("it is empty")?;
    let header: Header = serde_json::from_str(&first)?;
    ensure!(
        header.fleet_recording == VERSION,
        "it has version {} of the format, and this fleetctl reads version {VERSION}",
        header.fleet_recording
    );
    let kinds = Kinds::new();
    let mut frames: Vec<Frame> = Vec::new();
    // What it all amounts to, so that no frame can exceed the limits.
    let mut fleet = FleetObjects::new(Timestamp::UNIX_EPOCH);
    // All changes are held at once, as the writer counts them.
    let mut held = 0;
    while let Some(line) = lines.next()? {
        match entry(&line, &kinds)? {
            Entry::Frame(at) => {
                ensure!(frames.len() < MAX_FRAMES, "it has more than {MAX_FRAMES} frames");
                let last = frames.last().map_or(at, |frame| frame.at);
                ensure!(at >= last, "its frames are not in the order of time");
                frames.push(Frame { at, changes: Vec::new() });
            }
            Entry::Change(change) => {
                let frame = frames.last_mut().context("a change comes before the first frame")?;
                held += 1;
                ensure!(held <= MAX_OBJECTS, "it has more than {MAX_OBJECTS} changes");
                fleet.apply(&change);
                ensure!(
                    fleet.members.len() <= MAX_MEMBERS,
                    "it has more than {MAX_MEMBERS} members"
                );
                frame.changes.push(change);
            }
        }
    }
    ensure!(!frames.is_empty(), "it has no frame");
    Ok(Recording { hub_context: header.hub_context, frames })
}

struct Lines {
    reader: BufReader<std::io::Take<File>>,
    number: usize,
}

impl Lines {
    /// The next whole line.
    fn next(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        let limit = u64::try_from(MAX_LINE)?;
        let read = (&mut self.reader).take(limit).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.last() != Some(&b'\n') {
            ensure!(read < MAX_LINE, "it has more than {MAX_LINE} bytes");
            // The first line is needed as it is.
            return if self.number == 1 { Ok(Some(String::from_utf8(line)?)) } else { Ok(None) };
        }
        Ok(Some(String::from_utf8(line)?))
    }
}
