//! What is shown: clusters, or a recording.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use parking_lot::Mutex;
use tokio::sync::{OwnedMutexGuard, watch};

use super::frame::Frame;
use super::kept::Kept;
use super::live::Live;
use super::query::{Query, WhatIf};
use super::replay::Replay;
use super::shown::Shown;
use crate::recorded::FleetObjects;
use crate::status::status;
use crate::view::view;
use crate::what_if::{Action, Answer, what_if};

/// Results of actions that are kept: computing one takes all agents of the fleet.
const KEPT: usize = 8;
/// How long the result of an action on clusters is shown: each reads all of them.
const FRESH: Duration = Duration::from_secs(30);

/// What is shown.
pub(super) struct Source {
    kind: Kind,
    tried: Results,
    /// One at a time: each takes as much memory as the fleet.
    computing: Arc<tokio::sync::Mutex<()>>,
}

/// Is held until a computation is over: one whose asker has gone goes on.
type Turn = OwnedMutexGuard<()>;

/// The frame of a recording, and the action.
type Asked = (Option<usize>, WhatIf);

/// Results of actions, and when each was there.
type Results = Arc<Mutex<Kept<Asked, (Instant, Tried)>>>;

/// The result of an action.
type Tried = Result<(Answer, Frame), String>;

enum Kind {
    Live(Arc<Live>),
    Replay(Arc<Replay>),
}

impl Source {
    pub(super) fn live(live: Arc<Live>) -> Self {
        Self::of(Kind::Live(live))
    }

    pub(super) fn replay(replay: Replay) -> Self {
        Self::of(Kind::Replay(Arc::new(replay)))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, tried: Arc::new(Mutex::new(Kept::new(KEPT))), computing: Arc::default() }
    }

    /// The number of the newest frame, as it changes; none for a recording.
    pub(super) fn changes(&self) -> Option<watch::Receiver<usize>> {
        match &self.kind {
            Kind::Live(live) => Some(live.changes()),
            Kind::Replay(_) => None,
        }
    }

    /// What the address asks for.
    ///
    /// # Errors
    /// If nothing was seen yet.
    pub(super) async fn shown(&self, query: &Query) -> Result<Shown> {
        let shown = match &self.kind {
            Kind::Live(live) => live.shown(query.at)?,
            Kind::Replay(replay) => self.replayed(replay, query.at).await?,
        };
        let Some(action) = &query.what_if else { return Ok(shown) };
        Ok(match self.tried(&shown, action).await {
            Ok((answer, frame)) => Shown { frame, what_if: Some(Ok(answer)), ..shown },
            Err(reason) => Shown { what_if: Some(Err(reason)), ..shown },
        })
    }

    /// A frame of a recording. Who has waited finds it kept if others have asked for the same.
    async fn replayed(&self, replay: &Arc<Replay>, at: Option<usize>) -> Result<Shown> {
        if let Some(shown) = replay.known(at) {
            return Ok(shown);
        }
        let (replay, turn) = (Arc::clone(replay), self.turn().await);
        let shown = move || {
            let _turn = turn;
            replay.shown(at)
        };
        Ok(tokio::task::spawn_blocking(shown).await?)
    }

    async fn turn(&self) -> Turn {
        Arc::clone(&self.computing).lock_owned().await
    }

    async fn tried(&self, shown: &Shown, action: &WhatIf) -> Tried {
        let number = match &self.kind {
            Kind::Live(_) if !shown.is_live() => {
                return Err(
                    "an action can be tried on the present alone, or on a recording".to_owned()
                );
            }
            Kind::Live(_) => None,
            Kind::Replay(_) => Some(shown.number),
        };
        let key = (number, action.clone());
        let known = || {
            let (at, tried) = self.tried.lock().get(&key)?;
            (number.is_some() || at.elapsed() < FRESH).then_some(tried)
        };
        if let Some(known) = known() {
            return known;
        }
        let turn = self.turn().await;
        if let Some(known) = known() {
            return known;
        }
        let (objects, turn) = self.objects(shown, turn).await?;
        tried(objects, key, Arc::clone(&self.tried), turn).await
    }

    /// The objects of a frame. What the page has seen is kept as it is shown: only the present can be read.
    async fn objects(&self, shown: &Shown, turn: Turn) -> Result<(FleetObjects, Turn), String> {
        match &self.kind {
            Kind::Live(live) => {
                let objects = live.read().await.map_err(|error| format!("{error:#}"))?;
                Ok((objects, turn))
            }
            Kind::Replay(replay) => {
                let (replay, number) = (Arc::clone(replay), shown.number);
                let read = move || (replay.objects(number), turn);
                tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())
            }
        }
    }
}

/// Keeps the result before the turn ends, also if who has asked has gone: who asks for the same next finds it.
async fn tried(objects: FleetObjects, key: Asked, results: Results, turn: Turn) -> Tried {
    let action = match &key.1 {
        WhatIf::Lose(member) => Action::Lose(member.clone()),
        WhatIf::Drain(member) => {
            Action::Drain { member: member.clone(), services: Vec::new(), force: false }
        }
    };
    let compute = move || {
        let at = objects.at;
        let (answer, picture) = what_if(&objects, &action).map_err(|error| format!("{error:#}"))?;
        let view = Arc::new(view(&picture, status(&picture), &[]));
        Ok((answer, Frame { at, view }))
    };
    let tried = move || {
        let _turn = turn;
        let tried: Tried = compute();
        results.lock().insert(key, (Instant::now(), tried.clone()));
        tried
    };
    tokio::task::spawn_blocking(tried).await.map_err(|error| error.to_string())?
}
