//! Frames of a recording.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::frame::Frame;
use super::kept::Kept;
use super::moments::{Event, Events, Moment};
use super::shown::Shown;
use crate::recorded::{FleetObjects, Recording, Touched};
use crate::status::status;
use crate::view::view;

/// Frames that are kept as they are shown.
const KEPT: usize = 3;

/// A recording.
pub(super) struct Replay {
    recording: Recording,
    times: Vec<Timestamp>,
    moments: Arc<[Moment]>,
    kept: Mutex<Kept<usize, Frame>>,
}

impl Replay {
    pub(super) fn new(recording: Recording) -> Self {
        let times = recording.times();
        let touched = recording.touched().into_iter();
        let moments = touched.map(|(number, touched)| moment(number, times[number], touched));
        let moments = moments.collect();
        Self { recording, times, moments, kept: Mutex::new(Kept::new(KEPT)) }
    }

    /// A frame, or the nearest one that there is. Takes as much memory as the fleet if it is not kept.
    pub(super) fn shown(&self, at: Option<usize>) -> Shown {
        let number = self.number(at);
        self.of(number, self.frame(number))
    }

    /// The same, if it is kept.
    pub(super) fn known(&self, at: Option<usize>) -> Option<Shown> {
        let number = self.number(at);
        let frame = self.kept.lock().get(&number)?;
        Some(self.of(number, frame))
    }

    fn number(&self, at: Option<usize>) -> usize {
        let last = self.times.len() - 1;
        at.unwrap_or(last).min(last)
    }

    fn of(&self, number: usize, frame: Frame) -> Shown {
        let last = self.times.len() - 1;
        Shown {
            frame,
            number,
            first: 0,
            last,
            times: (self.times[0], self.times[last]),
            moments: Arc::clone(&self.moments),
            is_replay: true,
            what_if: None,
        }
    }

    pub(super) fn objects(&self, number: usize) -> FleetObjects {
        self.recording.at(number)
    }

    fn frame(&self, number: usize) -> Frame {
        if let Some(frame) = self.kept.lock().get(&number) {
            return frame;
        }
        let picture = self.objects(number).picture();
        let view = Arc::new(view(&picture, status(&picture), &[]));
        let frame = Frame { at: self.times[number], view };
        self.kept.lock().insert(number, frame.clone());
        frame
    }
}

fn moment(number: usize, at: Timestamp, Touched { first, others }: Touched) -> Moment {
    let (member, kind, name) = first;
    Moment { number, at, events: Events { first: Event::Object(member, kind, name), others } }
}
