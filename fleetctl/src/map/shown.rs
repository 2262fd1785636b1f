//! What one answer shows: a frame, and where it stands among the others.

use std::sync::Arc;

use jiff::Timestamp;

use super::frame::Frame;
use super::moments::Moment;
use crate::what_if::Answer;

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The fleet.
    pub frame: Frame,
    /// Number of the frame.
    pub number: usize,
    /// Number of the first frame that there is.
    pub first: usize,
    /// Number of the last one.
    pub last: usize,
    /// Times of the first and the last one.
    pub times: (Timestamp, Timestamp),
    /// Moments at which something happened, in the order of time.
    pub moments: Arc<[Moment]>,
    /// Whether it is a recording, rather than clusters.
    pub is_replay: bool,
    /// What would change, if that is asked for, or why that cannot be determined.
    pub what_if: Option<Result<Answer, String>>,
}

impl Shown {
    /// Whether it shows the present.
    pub fn is_live(&self) -> bool {
        !self.is_replay && self.number == self.last
    }
}
