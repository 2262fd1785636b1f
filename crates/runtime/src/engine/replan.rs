//! Planning everything anew, for reasons that no snapshot shows.

use tokio::sync::watch;

/// Makes controllers plan all their keys, of whatever the view shows. Clones reach the same controllers.
///
/// For what plans depend on beside the snapshot; it costs a plan per key, so not for what happens
/// often.
#[derive(Clone, Debug)]
pub struct Replan(watch::Sender<()>);

impl Replan {
    /// Reaches the controllers that are started with it.
    #[expect(
        clippy::new_without_default,
        reason = "one that reaches no controller would be a mistake"
    )]
    pub fn new() -> Self {
        Self(watch::Sender::new(()))
    }

    /// Marks every key of every controller. Asking again before a controller has got to it adds nothing.
    pub fn all(&self) {
        self.0.send_replace(());
    }

    /// What one controller hears.
    pub(super) fn subscribe(&self) -> Asked {
        Asked { asked: self.0.subscribe(), _keep: self.0.clone() }
    }
}

/// The requests that reach one controller.
pub(super) struct Asked {
    asked: watch::Receiver<()>,
    /// The channel stays open even if nobody else can ask any more.
    _keep: watch::Sender<()>,
}

impl Asked {
    /// Waits for the next request. Cancel safe.
    pub(super) async fn next(&mut self) {
        // Cannot fail: this holds a sender.
        let _ = self.asked.changed().await;
    }
}
