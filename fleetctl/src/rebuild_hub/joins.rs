//! The commands by which members come to the new hub. Pure.
//!
//! `fleetctl join` makes the place of a member on the hub, and then puts a token into the member's own cluster. Where that is not
//! possible, or not what the agent reads, the command for the hub stands alone: the script would end at a member that it cannot serve.

use std::fmt::Write as _;

use super::member::Member;
use crate::credential::{Place, join, join_with_secret};
use crate::output::terminal::line;
use crate::shell::quoted;

/// The command of a member, below a comment with what else there is to do.
pub(super) fn of_member(hub: &str, name: &str, member: &Member, text: &mut String) {
    let command = with_token(hub, name, member).unwrap_or_else(|rest| {
        let _ = writeln!(text, "# {}: {}", line(name), line(&rest));
        join(hub, name, "--print nothing")
    });
    let _ = writeln!(text, "{command}");
}

/// The command that also stores a token in the cluster of a member; or why there is none.
fn with_token(hub: &str, name: &str, member: &Member) -> Result<String, String> {
    let Some(context) = &member.context else {
        return Err(format!(
            "the kubeconfig has no context for it, so that this makes its place on the hub, and no token. Once it has one: {}",
            join(hub, name, &format!("--secret --print nothing --member {name}=CONTEXT"))
        ));
    };
    match &member.place {
        None => {
            let given = format!("{name}={context}");
            let options = format!("--secret --print nothing --member {}", quoted(&given));
            Err(format!(
                "its cluster could not be read, so that this makes its place on the hub, and no token. Once it answers: {}",
                join(hub, name, &options)
            ))
        }
        Some(Place::Secret { key, .. }) => join_with_secret(hub, name, context, key),
        Some(Place::Projected) => {
            Err("the kubelet gives its agent tokens, so that it needs none from here".to_owned())
        }
        Some(Place::Kubeconfig) => Err(format!(
            "its agent reads a kubeconfig from a Secret. Put there what this prints: {}",
            join(hub, name, "--print kubeconfig")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(context: Option<&str>, place: Option<Place>) -> String {
        let context = context.map(str::to_owned);
        let member = Member { context, place, ..Member::default() };
        let mut text = String::new();
        of_member("my hub", "east", &member, &mut text);
        text
    }

    fn secret(key: &str) -> Place {
        Place::Secret { key: key.parse().unwrap(), renews: true }
    }

    /// A context that is named like the member may be one of another fleet.
    #[test]
    fn the_cluster_of_a_member_is_named_by_its_context() {
        let expected = "fleetctl join east --secret --print nothing --hub-context 'my hub' --member 'east=my east'\n";
        let usual = Some(secret("fleet-system/hub-kubeconfig-secret"));
        assert_eq!(script(Some("my east"), usual), expected);
    }

    #[test]
    fn the_token_goes_where_the_agent_reads_it() {
        let text = script(Some("east"), Some(secret("net/mine")));
        let expected = " --member east=east --secret-name mine --secret-namespace net\n";
        assert!(text.ends_with(expected), "{text}");
    }

    /// The script ends at a command that fails.
    #[test]
    fn where_no_token_can_be_stored_the_hub_is_made_ready() {
        for (context, place, why) in [
            (None, None, "# east: the kubeconfig has no context for it"),
            (Some("my east"), None, "# east: its cluster could not be read"),
            (
                Some("east"),
                Some(secret("net/mine/jwt")),
                "# east: its agent reads the token from the key jwt",
            ),
            (Some("east"), Some(Place::Projected), "# east: the kubelet gives its agent tokens"),
            (Some("east"), Some(Place::Kubeconfig), "# east: its agent reads a kubeconfig"),
        ] {
            let text = script(context, place);
            let (comment, command) = text.split_once('\n').unwrap();
            assert!(comment.starts_with(why), "{text}");
            assert_eq!(command, "fleetctl join east --print nothing --hub-context 'my hub'\n");
        }
    }

    #[test]
    fn a_comment_is_one_line() {
        let mut text = String::new();
        of_member("a\nrm -rf /", "east", &Member::default(), &mut text);
        let (comment, _) = text.split_once('\n').unwrap();
        assert!(comment.contains("'a\\nrm -rf /'"), "{text}");
    }
}
