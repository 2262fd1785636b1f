//! What the page has seen, bounded by what it takes.

use std::collections::VecDeque;

use super::frame::Frame;
use crate::view::View;

/// Services in all frames together.
const SERVICES: usize = 20_000;
/// Most and least frames.
const FRAMES: (usize, usize) = (3, 300);

/// The frames of the last while, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    frames: VecDeque<Frame>,
    /// How many were dropped.
    dropped: usize,
}

impl History {
    /// Adds a frame. One that differs from the last in ages alone takes its place. Returns whether something has changed.
    pub(super) fn add(&mut self, frame: Frame) -> bool {
        let is_new = self.frames.back().is_none_or(|last| !is_same(&last.view, &frame.view));
        if !is_new {
            self.frames.pop_back();
        }
        let most = (SERVICES / (frame.view.services.len() + 1)).clamp(FRAMES.0, FRAMES.1);
        self.frames.push_back(frame);
        while self.frames.len() > most {
            self.frames.pop_front();
            self.dropped += 1;
        }
        is_new
    }

    /// Numbers of the first and the last frame; `None` before the first.
    pub(super) fn range(&self) -> Option<(usize, usize)> {
        let last = (self.dropped + self.frames.len()).checked_sub(1)?;
        (!self.frames.is_empty()).then_some((self.dropped, last))
    }

    /// A frame, or the nearest one that there is.
    pub(super) fn get(&self, number: usize) -> Option<&Frame> {
        let (first, last) = self.range()?;
        self.frames.get(number.clamp(first, last) - self.dropped)
    }
}

/// Whether two views differ in nothing but ages.
fn is_same(one: &View, other: &View) -> bool {
    let ageless = |view: &View| {
        let mut view = view.clone();
        for member in &mut view.members {
            member.heartbeat_seconds = None;
        }
        for service in &mut view.services {
            for edge in service.exporters.iter_mut().chain(&mut service.importers) {
                edge.changed_seconds = None;
            }
        }
        view
    };
    ageless(one) == ageless(other)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;
    use crate::view::MemberView;

    fn frame(second: i64, state: &'static str, heartbeat: i64) -> Frame {
        let member = MemberView {
            name: "east".to_owned(),
            state,
            heartbeat_seconds: Some(heartbeat),
            ..MemberView::default()
        };
        let view = View { members: vec![member], ..View::default() };
        Frame { at: Timestamp::from_second(second).unwrap(), view: Arc::new(view) }
    }

    #[test]
    fn only_changes_are_frames() {
        let mut history = History::default();
        assert_eq!((history.range(), history.get(0)), (None, None));
        assert!(history.add(frame(1, "Joined", 1)));
        assert!(!history.add(frame(2, "Joined", 2)), "time has passed, and nothing else");
        assert!(history.add(frame(3, "Silent", 3)));
        assert_eq!(history.range(), Some((0, 1)));
        assert_eq!(history.get(0).unwrap().at.as_second(), 2);
    }

    #[test]
    fn the_oldest_frames_go() {
        let mut history = History::default();
        for second in 0..1000 {
            history.add(frame(second, if second % 2 == 0 { "Joined" } else { "Silent" }, 0));
        }
        let (first, last) = history.range().unwrap();
        assert_eq!((last, last - first + 1), (999, FRAMES.1));
        assert_eq!(history.get(0), history.get(first), "the nearest that there is");
        assert_eq!(history.get(5000).unwrap().at.as_second(), 999);
    }
}
