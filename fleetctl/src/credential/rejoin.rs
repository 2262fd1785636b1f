//! The commands of `fleetctl join` that others run later, from a plan or a script. Pure.
//!
//! By itself `join` takes the contexts that are named like the hub and the member. Where they are run, contexts of these names may lead
//! to the clusters of another fleet, and `join` would write there. So they name each cluster by its context.

use std::fmt::Write as _;

use fleet_api::names::{SYSTEM_NAMESPACE, is_dns1123_label, is_dns1123_subdomain};
use fleet_runtime::credential::SecretKey;

use super::place::SECRET;
use crate::shell::quoted;

/// The command that makes the place of a member on the hub of this context, with further options.
pub(crate) fn join(hub: &str, member: &str, options: &str) -> String {
    format!("fleetctl join {} {options} --hub-context {}", quoted(member), quoted(hub))
}

/// The command that also puts a token where the agent in the cluster of this context reads it.
///
/// # Errors
/// If `join` does not write there. The text has what to do instead, and is the rest of a sentence about the member.
pub(crate) fn join_with_secret(
    hub: &str,
    member: &str,
    context: &str,
    key: &SecretKey,
) -> Result<String, String> {
    if !is_written(key) {
        let token = join(hub, member, "--print token");
        return Err(format!(
            "its agent reads the token from the key {} of the Secret {}/{}, which fleetctl join does not write. Put there what this \
             prints: {token}",
            key.key, key.namespace, key.name
        ));
    }
    let mut command = join(hub, member, "--secret --print nothing");
    let _ = write!(command, " --member {}", quoted(&format!("{member}={context}")));
    if key.name != SECRET {
        let _ = write!(command, " --secret-name {}", key.name);
    }
    if key.namespace != SYSTEM_NAMESPACE {
        let _ = write!(command, " --secret-namespace {}", key.namespace);
    }
    Ok(command)
}

/// Whether `join` writes this key. What the API server of a member names may be anything, such as an option to a command.
fn is_written(key: &SecretKey) -> bool {
    key.key == SecretKey::DEFAULT_KEY
        && is_dns1123_subdomain(&key.name)
        && is_dns1123_label(&key.namespace)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::access::Access;
    use crate::args::{Cli, Command, JoinArgs, Print};

    fn key(namespace: &str, name: &str, key: &str) -> SecretKey {
        SecretKey { namespace: namespace.to_owned(), name: name.to_owned(), key: key.to_owned() }
    }

    /// As the program takes the command.
    fn taken(command: &str) -> (Access, JoinArgs) {
        let Cli { access, command, .. } = Cli::try_parse_from(command.split(' ')).unwrap();
        match command {
            Command::Join(args) => (access, args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_clusters_are_named_by_their_contexts() {
        let usual = key("fleet-system", "hub-kubeconfig-secret", "token");
        let command = join_with_secret("prod-hub", "west", "prod/west=1", &usual).unwrap();
        let expected = "fleetctl join west --secret --print nothing --hub-context prod-hub --member west=prod/west=1";
        assert_eq!(command, expected, "and nothing that is so by default");
        let (access, args) = taken(&command);
        assert_eq!(access.hub_context.as_deref(), Some("prod-hub"));
        assert_eq!(access.members, [("west".to_owned(), "prod/west=1".to_owned())]);
        assert!(args.secret && args.print == Print::Nothing && args.name == "west");
        let place = (args.secret_namespace.as_str(), args.secret_name.as_str());
        assert_eq!(place, ("fleet-system", "hub-kubeconfig-secret"));
    }

    #[test]
    fn the_secret_is_the_one_that_the_agent_reads() {
        let mine = key("net", "mine", "token");
        let command = join_with_secret("hub", "west", "west", &mine).unwrap();
        let (_, args) = taken(&command);
        let place = (args.secret_namespace.as_str(), args.secret_name.as_str());
        assert_eq!(place, ("net", "mine"));
    }

    #[test]
    fn a_name_is_one_word_of_the_shell() {
        let usual = key("fleet-system", "hub-kubeconfig-secret", "token");
        let command = join_with_secret("my hub", "west", "$(id) west", &usual).unwrap();
        assert!(
            command.ends_with("--hub-context 'my hub' --member 'west=$(id) west'"),
            "{command}"
        );
    }

    /// A cluster that is hostile names the Secret.
    #[test]
    fn where_join_does_not_write_there_is_no_command() {
        for (key, place) in [
            (key("net", "mine", "jwt"), "the key jwt of the Secret net/mine,"),
            (key("net", "--replace", "token"), "the key token of the Secret net/--replace,"),
            (key("--replace", "mine", "token"), "the Secret --replace/mine,"),
            (key("net", "a b", "token"), "the Secret net/a b,"),
        ] {
            let why = join_with_secret("prod-hub", "west", "west", &key).unwrap_err();
            assert!(why.contains(place), "{why}");
            let end = ": fleetctl join west --print token --hub-context prod-hub";
            assert!(why.ends_with(end), "{why}");
        }
    }
}
