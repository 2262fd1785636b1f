//! The answer where a drain is refused, as `fleetctl drain` refuses it: nothing would change. Pure.

use serde_json::{Value, json};

use super::action::Action;
use crate::output::Paint;
use crate::output::terminal::line;
use crate::traffic::Refused;

/// As text, in the words of the command.
pub(crate) fn text(refused: &Refused, paint: Paint) -> String {
    let lines = refused.lines().into_iter().enumerate();
    let shown = lines.map(|(at, text)| match at {
        0 => paint.bad(&text) + "\n",
        _ => line(&text).into_owned() + "\n",
    });
    shown.collect()
}

/// As data. Programs know it by `refused`, which other answers lack.
pub(crate) fn data(action: &Action, refused: &Refused) -> Value {
    json!({
        "action": action.to_string(),
        "refused": Refused::sentence(),
        "services": refused.services(),
    })
}
