//! How many requests an API server gets at once, by how long it takes to answer.
//!
//! An API server that has more to do than it can answers all requests later, those of others too, long before it refuses
//! any. More requests at once get nothing done sooner then: what waits there would better wait here, where each account has
//! its turn. So while answers take much longer than usual fewer requests go at once, and one more for each window in which
//! they do not, as TCP Vegas does (L. Brakmo, L. Peterson: TCP Vegas: End to End Congestion Avoidance on a Global Internet,
//! 1995).
//!
//! What is usual is learned per kind and verb: a slow webhook for one kind does not matter for the others, and the way to a hub
//! on another continent is part of it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fleet_api::ResourceKind;

/// What kind of request was answered: its verb and what it writes.
pub(in crate::writer) type RequestType = (&'static str, ResourceKind);

/// So many answers are judged together, by their median: single ones are late for many reasons.
const WINDOW: usize = 8;
/// Answers that take so many times as long as usual come from an API server that has too much to do.
const LATE: f64 = 3.0;
/// Answers that take less than so many times as long come from one that could do more.
const PROMPT: f64 = 2.0;
/// So many requests go at once however late the answers are: the server may be slow for reasons that fewer requests do not mend.
const FEWEST: usize = 4;
/// While answers are late, one of several accounts gets such a part of the slots.
const PART: usize = 2;
/// What was usual so long ago counts for little. An API server that has become slower for good gets its requests back.
const MEMORY: Duration = Duration::from_mins(10);
/// Time without answers does not count; between two, no more than this does.
const LONGEST_GAP: Duration = Duration::from_secs(10);

/// The number of requests at once that an API server answers in time.
#[derive(Debug)]
pub(super) struct Latency {
    most: usize,
    allowed: usize,
    usual: HashMap<RequestType, Usual>,
    /// Answers since `changed`, each in units of what is usual for it.
    window: Vec<f64>,
    /// When `allowed` became what it is; what was sent before is no measure of it.
    changed: Option<Instant>,
}

/// How long an answer usually takes: close to the shortest times.
#[derive(Debug)]
struct Usual {
    seconds: f64,
    at: Instant,
}

impl Latency {
    pub(super) fn new(most: usize) -> Self {
        let (usual, window) = (HashMap::new(), Vec::with_capacity(WINDOW));
        Self { most, allowed: most, usual, window, changed: None }
    }

    /// Whether a request may be sent while so many are under way.
    pub(super) fn allows(&self, under_way: usize) -> bool {
        under_way < self.allowed
    }

    /// How many requests of one account may be under way beside others, if that matters: while answers are late.
    pub(super) fn share(&self) -> Option<usize> {
        (self.allowed < self.most).then(|| (self.allowed / PART).max(1))
    }

    /// A request that was sent `took` before `now` was served.
    pub(super) fn served(&mut self, request: RequestType, took: Duration, now: Instant) {
        let usual = self.usual.entry(request).or_insert_with(|| Usual::first(took, now));
        let ratio = usual.compare(took, now);
        if self.changed.is_some_and(|at| now.duration_since(at) < took) {
            return;
        }
        self.window.push(ratio);
        if self.window.len() == WINDOW {
            self.judge(now);
        }
    }

    fn judge(&mut self, now: Instant) {
        self.window.sort_by(f64::total_cmp);
        let median = self.window[WINDOW / 2];
        self.window.clear();
        let allowed = if median > LATE {
            (self.allowed * 3 / 4).max(FEWEST).min(self.most)
        } else if median < PROMPT {
            (self.allowed + 1).min(self.most)
        } else {
            self.allowed
        };
        if allowed != self.allowed {
            self.allowed = allowed;
            self.changed = Some(now);
        }
    }
}

impl Usual {
    fn first(took: Duration, now: Instant) -> Self {
        Self { seconds: seconds(took), at: now }
    }

    /// How many times as long as usual an answer took. Shorter ones become usual soon, longer ones slowly.
    fn compare(&mut self, took: Duration, now: Instant) -> f64 {
        let gap = now.saturating_duration_since(self.at).min(LONGEST_GAP);
        let took = seconds(took);
        self.at = now;
        self.seconds += if took < self.seconds {
            (took - self.seconds) / 4.0
        } else {
            (took - self.seconds).min(self.seconds * gap.div_duration_f64(MEMORY))
        };
        took / self.seconds
    }
}

/// At least one microsecond, so that it can be divided by.
fn seconds(time: Duration) -> f64 {
    time.as_secs_f64().max(1e-6)
}

#[cfg(test)]
mod tests {
    use fleet_api::kinds::{ENDPOINT_SLICE_IMPORT, SERVICE};

    use super::*;

    const MOST: usize = 16;
    const WRITE: RequestType = ("update", ENDPOINT_SLICE_IMPORT);

    /// An API server that answers in `base` as long as at most three requests are under way, and later in proportion to them.
    struct Server {
        base: Duration,
        others: usize,
        now: Instant,
        latency: Latency,
    }

    impl Server {
        fn new(base: Duration) -> Self {
            Self { base, others: 0, now: Instant::now(), latency: Latency::new(MOST) }
        }

        fn answer(&mut self, request: RequestType, took: Duration) {
            self.now += took / u32::try_from(self.latency.allowed).unwrap();
            self.latency.served(request, took, self.now);
        }

        /// As many requests at once as are allowed, until so many were answered.
        fn busy(&mut self, answers: usize) -> usize {
            for _ in 0..answers {
                let under_way = u32::try_from(self.latency.allowed + self.others).unwrap();
                self.answer(WRITE, self.base * under_way.max(3) / 3);
            }
            self.latency.allowed
        }

        /// One request after the other.
        fn calm(&mut self, answers: usize) -> usize {
            for _ in 0..answers {
                self.now += Duration::from_secs(1);
                self.answer(WRITE, self.base);
            }
            self.latency.allowed
        }
    }

    #[test]
    fn a_server_that_answers_as_usual_gets_all() {
        let mut server = Server::new(Duration::from_millis(4));
        assert_eq!(server.calm(100), MOST);
        assert!(server.latency.allows(MOST - 1) && !server.latency.allows(MOST));
    }

    #[test]
    fn one_that_gets_more_than_it_can_do_gets_less_soon() {
        let mut server = Server::new(Duration::from_millis(4));
        server.calm(20);
        let allowed = server.busy(200);
        assert!((FEWEST..=9).contains(&allowed), "{allowed}");
    }

    #[test]
    fn what_others_send_counts_too() {
        let mut server = Server::new(Duration::from_millis(4));
        server.calm(20);
        server.others = 16;
        assert_eq!(server.busy(200), FEWEST);
        server.others = 0;
        assert!(server.busy(200) > FEWEST);
    }

    #[test]
    fn all_goes_at_once_again_when_there_is_less_to_do() {
        let mut server = Server::new(Duration::from_millis(4));
        server.calm(20);
        server.busy(200);
        assert_eq!(server.calm(WINDOW * (MOST + 2)), MOST);
    }

    #[test]
    fn a_long_way_to_the_server_is_usual() {
        let mut server = Server::new(Duration::from_millis(1));
        let way = Duration::from_millis(80);
        for under_way in (1..=u32::try_from(MOST).unwrap()).cycle().take(500) {
            server.answer(WRITE, way + server.base * under_way);
        }
        assert_eq!(server.latency.allowed, MOST);
    }

    #[test]
    fn a_kind_that_is_always_slow_is_no_reason() {
        let mut server = Server::new(Duration::from_millis(4));
        server.calm(20);
        for _ in 0..100 {
            server.answer(("create", SERVICE), Duration::from_millis(500));
        }
        assert_eq!(server.latency.allowed, MOST);
    }

    #[test]
    fn a_server_that_is_slower_for_good_gets_all_again() {
        let mut server = Server::new(Duration::from_millis(4));
        server.calm(20);
        server.base = Duration::from_millis(40);
        assert!(server.calm(40) < MOST);
        let enough = 3 * MEMORY.as_secs() + 60;
        assert_eq!(server.calm(usize::try_from(enough).unwrap()), MOST);
    }

    #[test]
    fn single_late_answers_are_no_reason() {
        let mut server = Server::new(Duration::from_millis(4));
        for _ in 0..100 {
            server.calm(5);
            server.answer(WRITE, Duration::from_secs(3));
        }
        assert_eq!(server.latency.allowed, MOST);
    }

    #[test]
    fn answers_without_a_duration_do_no_harm() {
        let mut server = Server::new(Duration::ZERO);
        assert_eq!(server.calm(100), MOST);
    }

    #[test]
    fn one_slot_stays_one() {
        let mut latency = Latency::new(1);
        let mut now = Instant::now();
        for milliseconds in (1..100).cycle().take(1000) {
            now += Duration::from_secs(1);
            latency.served(WRITE, Duration::from_millis(milliseconds), now);
            assert!(latency.allows(0) && !latency.allows(1));
        }
    }
}
