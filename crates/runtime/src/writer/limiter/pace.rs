//! How many requests an API server gets at once, by how it answers.
//!
//! A refusal (429, or 503 with `Retry-After`) concerns all requests of this process: the API server shares what it can do
//! among its users, and knows no keys. So each round with a refusal halves the number of requests at once, and each round
//! without adds one to it. After two refusals in a row nothing is sent for as long as the API server asks. One refusal
//! between other answers stops only the key that it concerns: it may be a webhook that has something against one object.

use std::time::{Duration, Instant};

use super::super::reply::LONGEST_PAUSE;

/// The pace of the requests to one API server.
#[derive(Debug)]
pub(super) struct Pace {
    /// Requests at once while nothing is refused.
    most: usize,
    /// Requests at once now, at least one.
    allowed: usize,
    /// Number of the round; a refusal begins the next one.
    round: u64,
    /// Other answers since `allowed` changed.
    answered: usize,
    /// Whether the last answer was a refusal.
    was_refused: bool,
    /// Nothing is sent before.
    resumes: Option<Instant>,
}

impl Pace {
    pub(super) fn new(most: usize) -> Self {
        Self { most, allowed: most, round: 0, answered: 0, was_refused: false, resumes: None }
    }

    /// The round that a request belongs to which is sent now.
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// Whether a request may be sent while so many are under way.
    pub(super) fn allows(&self, under_way: usize, now: Instant) -> bool {
        under_way < self.allowed && self.resumes.is_none_or(|at| at <= now)
    }

    /// Whether it is the pace of a server that refuses nothing.
    pub(super) fn is_full(&self) -> bool {
        self.allowed == self.most
    }

    /// A request of `round` was refused, with a pause that the API server asks for. Returns when requests go on if all have
    /// to wait. What was sent in the same round is refused for the same reason, and halves nothing.
    pub(super) fn refused(&mut self, round: u64, pause: Duration, now: Instant) -> Option<Instant> {
        if round == self.round {
            self.round += 1;
            self.allowed = (self.allowed / 2).max(1);
        }
        self.answered = 0;
        if !std::mem::replace(&mut self.was_refused, true) {
            return None;
        }
        self.resumes = self.resumes.max(Some(now + pause.min(LONGEST_PAUSE)));
        self.resumes
    }

    /// A request was answered otherwise.
    pub(super) fn answered(&mut self) {
        self.was_refused = false;
        if self.is_full() {
            return;
        }
        self.answered += 1;
        if self.answered >= self.allowed {
            self.allowed += 1;
            self.answered = 0;
        }
    }
}
