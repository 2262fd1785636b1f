//! Watches on their way through: line by line, so that one can be lost, and a stream can fall silent.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The watches of a proxy.
#[derive(Debug)]
pub(super) struct Streams {
    running: Mutex<Vec<Running>>,
    to_lose: Mutex<Vec<(String, String)>>,
    lost: AtomicUsize,
    ended: watch::Sender<bool>,
}

impl Default for Streams {
    fn default() -> Self {
        let (running, to_lose) = (Mutex::default(), Mutex::default());
        Self { running, to_lose, lost: AtomicUsize::new(0), ended: watch::Sender::new(false) }
    }
}

#[derive(Debug)]
struct Running {
    resource: String,
    stranded: watch::Sender<bool>,
}

/// What carries one watch.
pub(super) struct Carrier {
    resource: String,
    stranded: watch::Receiver<bool>,
    ended: watch::Receiver<bool>,
}

impl Streams {
    pub(super) fn strand(&self, resource: &str) -> usize {
        let mut running = self.running.lock();
        running.retain(|one| !one.stranded.is_closed());
        let meant: Vec<_> = running
            .iter()
            .filter(|one| one.resource == resource && !*one.stranded.borrow())
            .collect();
        for one in &meant {
            one.stranded.send_replace(true);
        }
        meant.len()
    }

    pub(super) fn lose(&self, resource: &str, text: &str) {
        self.to_lose.lock().push((resource.to_owned(), text.to_owned()));
    }

    pub(super) fn lose_no_more(&self) {
        self.to_lose.lock().clear();
    }

    pub(super) fn lost(&self) -> usize {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Notified when the proxy ends.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    pub(super) fn carrier(&self, resource: &str) -> Carrier {
        let (stranded, receiver) = watch::channel(false);
        let mut running = self.running.lock();
        running.retain(|one| !one.stranded.is_closed());
        running.push(Running { resource: resource.to_owned(), stranded });
        Carrier { resource: resource.to_owned(), stranded: receiver, ended: self.ended() }
    }

    fn loses(&self, resource: &str, line: &[u8]) -> bool {
        let mut to_lose = self.to_lose.lock();
        let meant = |(of, text): &(String, String)| {
            of == resource && line.windows(text.len()).any(|part| part == text.as_bytes())
        };
        let Some(position) = to_lose.iter().position(meant) else { return false };
        to_lose.remove(position);
        self.lost.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl Carrier {
    /// The lines of `body` that are let through. A stranded stream goes on without delivering anything.
    pub(super) fn carry(
        self,
        body: Body,
        streams: Arc<Streams>,
    ) -> StreamBody<impl Stream<Item = Result<Frame<Bytes>, Infallible>>> {
        let state = (self, body.into_data_stream(), Vec::new(), streams);
        StreamBody::new(stream::unfold(
            state,
            async |(mut carrier, mut data, mut rest, streams)| {
                let lines = loop {
                    let chunk = tokio::select! {
                        chunk = data.next() => chunk?.ok()?,
                        _ = carrier.ended.wait_for(|ended| *ended) => return None,
                    };
                    rest.extend_from_slice(&chunk);
                    let lines =
                        whole_lines(&mut rest, |line| !streams.loses(&carrier.resource, line));
                    if !lines.is_empty() {
                        break lines;
                    }
                };
                if *carrier.stranded.borrow_and_update() {
                    let _ = carrier.ended.wait_for(|ended| *ended).await;
                    return None;
                }
                Some((Ok(Frame::data(Bytes::from(lines))), (carrier, data, rest, streams)))
            },
        ))
    }
}

/// Takes the complete lines out of `rest`, and returns those that `pass`.
fn whole_lines(rest: &mut Vec<u8>, mut pass: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let Some(end) = rest.iter().rposition(|&byte| byte == b'\n') else { return Vec::new() };
    let left = rest.split_off(end + 1);
    let lines = std::mem::replace(rest, left);
    lines
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| pass(line))
        .flatten()
        .copied()
        .collect()
}
