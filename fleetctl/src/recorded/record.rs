//! `fleetctl record`: writes what all clusters have into a file, and what changes, until it is interrupted.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;

use super::args::RecordArgs;
use super::change::changes;
use super::file::{self, MAX_FRAMES, MAX_LINE, MAX_MEMBERS, MAX_OBJECTS, MAX_SIZE};
use super::fleet::FleetObjects;
use super::read::Reader;
use crate::args::Cli;
use crate::output::report;

/// Records until it is interrupted, or the limits of a recording are reached.
pub(crate) async fn run(cli: &Cli, args: &RecordArgs) -> Result<ExitCode> {
    let mut reader = Reader::connect(&cli.access).await?;
    let mut writer = Writer::create(&args.file)?;
    let most =
        args.frames.map_or(MAX_FRAMES, |frames| usize::try_from(frames).unwrap_or(MAX_FRAMES));
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    let mut frames = 0;
    while frames < most {
        let read = tokio::select! {
            read = reader.read() => read,
            _ = &mut interrupted => break,
        };
        match read {
            // A hub that is away for a while ends no recording.
            Err(error) if frames > 0 => report(&format!("Not recorded: {error:#}")),
            read => {
                if !writer.add(&read?)? {
                    report("The recording has reached its largest size.");
                    break;
                }
                frames += 1;
                if frames == 1 {
                    report(&format!("Recording to {}; end it with Ctrl-C.", args.file.display()));
                }
            }
        }
        if frames < most {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(args.every)) => {}
                _ = &mut interrupted => break,
            }
        }
    }
    report(&format!("{frames} frames in {}", args.file.display()));
    Ok(ExitCode::SUCCESS)
}

/// What a recording is written to.
trait Store: Write {
    /// Gives up what follows this length, and goes on from there.
    fn cut(&mut self, length: u64) -> std::io::Result<()>;
}

impl Store for File {
    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }
}

/// Appends a frame as a whole, or nothing: the file may end in the middle of it if a disk is full.
fn append(store: &mut impl Store, frame: &[u8], written: u64) -> std::io::Result<()> {
    let result = store.write_all(frame).and_then(|()| store.flush());
    if result.is_err() {
        // The error that matters is the first one.
        store.cut(written).ok();
    }
    result
}

/// Writes a recording. Each frame is there as a whole, or counts as not written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    last: FleetObjects,
    began: bool,
    written: u64,
    objects: usize,
    frames: usize,
}

impl Writer {
    /// Creates the file. Others may not read it: it has addresses of endpoints.
    ///
    /// # Errors
    /// If it exists, or cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = file.with_context(|| format!("create {}", path.display()))?;
        let last = FleetObjects::new(Timestamp::UNIX_EPOCH);
        Ok(Self { file, last, began: false, written: 0, objects: 0, frames: 0 })
    }

    /// Adds a frame. False if it would exceed the limits of a recording, and was not added.
    ///
    /// # Errors
    /// If it cannot be written, or is larger than a recording may be on its own.
    pub fn add(&mut self, fleet: &FleetObjects) -> Result<bool> {
        let changes = changes(&self.last, fleet);
        let mut text = String::new();
        if !self.began {
            text += &file::header(fleet.hub_context.as_deref())?;
        }
        // A clock may be set back; frames are in the order of time.
        let at = fleet.at.max(self.last.at);
        text += &file::frame(at)?;
        for change in &changes {
            text += &file::line(change)?;
        }
        let size = self.written + u64::try_from(text.len())?;
        let objects = self.objects + changes.len();
        // What would not be read again is not written.
        let is_read =
            fleet.members.len() <= MAX_MEMBERS && text.lines().all(|line| line.len() < MAX_LINE);
        if !is_read || size > MAX_SIZE || objects > MAX_OBJECTS || self.frames >= MAX_FRAMES {
            ensure!(self.began, "the fleet is larger than a recording may be");
            return Ok(false);
        }
        append(&mut self.file, text.as_bytes(), self.written).context("write the recording")?;
        (self.written, self.objects, self.frames) = (size, objects, self.frames + 1);
        // As it is read again.
        for change in &changes {
            self.last.apply(change);
        }
        (self.began, self.last.at) = (true, at);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A disk that is nearly full.
    struct Full(Cursor<Vec<u8>>, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let space = self.1 - self.0.get_ref().len();
            if space == 0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0.write(&bytes[..space.min(bytes.len())])
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Store for Full {
        fn cut(&mut self, length: u64) -> std::io::Result<()> {
            self.0.get_mut().truncate(usize::try_from(length).unwrap());
            self.0.set_position(length);
            Ok(())
        }
    }

    #[test]
    fn a_frame_that_does_not_fit_leaves_nothing() {
        let mut disk = Full(Cursor::default(), 8);
        append(&mut disk, b"whole\n", 0).unwrap();
        append(&mut disk, b"second\n", 6).unwrap_err();
        assert_eq!(disk.0.get_ref(), b"whole\n");
        append(&mut disk, b"x\n", 6).unwrap();
        assert_eq!(disk.0.get_ref(), b"whole\nx\n");
    }
}
