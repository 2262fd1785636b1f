//! Tokens of members that are near their end.

use fleet_runtime::credential::SecretKey;

use crate::credential::join_with_secret;
use crate::doctor::finding::{Finding, Outcome, Read, Unread, known};
use crate::doctor::seen::Token;
use crate::doctor::subject::Subject;

/// Seconds before the end of a token that is not renewed at which it is time.
const SOON: i64 = 7 * 24 * 3600;
/// Seconds that a token has left which its agent has not renewed in time.
const LATE: i64 = 3600;

/// Whether the hub accepts the token of the agent, and will.
pub(super) fn end(member: &Subject<'_>) -> Outcome {
    let Token { state, says, remaining, secret } = known(&member.own.token)?;
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
    Ok(vec![mended(finding, member, secret.as_ref())?])
}

/// With the command that puts another token where the agent reads it, or with what to do where there is none.
fn mended(finding: Finding, member: &Subject<'_>, secret: Option<&SecretKey>) -> Read<Finding> {
    let hub = &member.hub()?.context;
    let command = match secret {
        Some(key) => join_with_secret(hub, member.name, &member.own.context, key),
        None => Err("which Secret its agent reads is not known without its Deployment".to_owned()),
    };
    Ok(match command {
        Ok(command) => finding.mend(command),
        Err(why) => {
            let advice = format!("{}; {why}", finding.advice.as_deref().unwrap_or_default());
            Finding { advice: Some(advice), ..finding }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Level;
    use crate::doctor::testing::{World, levels, sound, unread};

    /// What gives the member of [`sound`] another token.
    const ANOTHER: &str =
        "fleetctl join west --secret --print nothing --hub-context hub --member west=west-admin";

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
            let secret = Some("fleet-system/hub-kubeconfig-secret".parse().unwrap());
            let token = Token { state: state.to_owned(), says: None, remaining, secret };
            world.own().token = Ok(token);
            let found = world.examine(end);
            let level = levels(&found).pop();
            assert_eq!(level.as_deref(), expected, "{state} {remaining:?}");
            let command = found.first().and_then(|it| it.command.as_deref());
            assert_eq!(command, expected.map(|_| ANOTHER));
        }
    }

    /// Contexts that are named like hub and member may be of another fleet, and the chart may have another Secret.
    #[test]
    fn the_command_names_clusters_and_secret() {
        let mut world = sound();
        world.hub().context = "prod hub".to_owned();
        world.own().context = "west".to_owned();
        let found = examined(&mut world, Some("net/mine"));
        let command = "fleetctl join west --secret --print nothing --hub-context 'prod hub' --member west=west --secret-name mine \
                       --secret-namespace net";
        assert_eq!(found.command.as_deref(), Some(command));
        assert_eq!(found.advice.as_deref(), Some("make another one"));
    }

    #[test]
    fn where_join_does_not_write_there_is_a_sentence() {
        for (secret, why) in [
            (
                Some("net/mine/jwt"),
                "its agent reads the token from the key jwt of the Secret net/mine, which",
            ),
            (None, "which Secret its agent reads is not known"),
        ] {
            let found = examined(&mut sound(), secret);
            assert_eq!((found.level, found.command), (Level::Failure, None));
            let advice = found.advice.unwrap();
            assert!(advice.starts_with(&format!("make another one; {why}")), "{advice}");
        }
    }

    /// What is found of an expired token in this Secret.
    fn examined(world: &mut World, secret: Option<&str>) -> Finding {
        let token = world.own().token.as_mut().unwrap();
        token.state = "expired".to_owned();
        token.secret = secret.map(|secret| secret.parse().unwrap());
        world.examine(end).remove(0)
    }

    #[test]
    fn a_secret_that_cannot_be_read_is_not_checked() {
        let mut world = sound();
        let says = Some("the Secret a/b cannot be read".to_owned());
        let state = "unknown".to_owned();
        world.own().token = Ok(Token { state, says, ..Token::default() });
        assert!(world.try_examine(end).unwrap_err().reason.contains("cannot be read"));
        world.own().token = Err(unread());
        assert_eq!(world.try_examine(end), Err(unread()));
    }
}
