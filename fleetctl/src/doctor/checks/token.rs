//! Tokens of members that are near their end.

use crate::doctor::finding::{Finding, Outcome, Unread, known};
use crate::doctor::seen::Token;
use crate::doctor::subject::Subject;
use crate::shell::quoted;

/// Seconds before the end of a token that is not renewed at which it is time.
const SOON: i64 = 7 * 24 * 3600;
/// Seconds that a token has left which its agent has not renewed in time.
const LATE: i64 = 3600;

/// Whether the hub accepts the token of the agent, and will.
pub(super) fn end(member: &Subject<'_>) -> Outcome {
    let Token { state, says, remaining } = known(&member.own.token)?;
    let says = says.clone().unwrap_or_else(|| format!("the token for the hub is {state}"));
    let finding = match (state.as_str(), remaining) {
        ("unknown", _) => return Err(Unread::new(says, "ask for the right to read that Secret")),
        ("expired", _) => Finding::failure(says, "make another one"),
        ("kept", Some(left)) if *left < SOON => Finding::warning(
            says,
            "make another one in time, or let the agent renew it: value token.renew of the chart member-agent",
        ),
        ("renewed", Some(left)) if *left < LATE => Finding::warning(
            format!(
                "the token for the hub expires in {} minutes, and the agent is to renew it every hour",
                left / 60
            ),
            "check that the agent runs; if it does not, make another one",
        ),
        _ => return Ok(Vec::new()),
    };
    Ok(vec![finding.mend(format!("fleetctl join {} --secret", quoted(member.name)))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, sound, unread};

    #[test]
    fn a_token_near_its_end_is_a_warning() {
        let mut world = sound();
        for (state, remaining, expected) in [
            ("renewed", Some(80_000), None),
            ("renewed", Some(3_000), Some("warning")),
            ("kept", Some(SOON + 1), None),
            ("kept", Some(SOON - 1), Some("warning")),
            ("kept", None, None),
            ("kubelet", None, None),
            ("expired", Some(-5), Some("failure")),
        ] {
            world.own().token = Ok(Token { state: state.to_owned(), says: None, remaining });
            let found = world.examine(end);
            let level = levels(&found).pop();
            assert_eq!(level.as_deref(), expected, "{state} {remaining:?}");
            let command = found.first().and_then(|it| it.command.as_deref());
            assert_eq!(command, expected.map(|_| "fleetctl join west --secret"));
        }
    }

    #[test]
    fn a_secret_that_cannot_be_read_is_not_checked() {
        let mut world = sound();
        let says = Some("the Secret a/b cannot be read".to_owned());
        world.own().token = Ok(Token { state: "unknown".to_owned(), says, remaining: None });
        assert!(world.try_examine(end).unwrap_err().reason.contains("cannot be read"));
        world.own().token = Err(unread());
        assert_eq!(world.try_examine(end), Err(unread()));
    }
}
