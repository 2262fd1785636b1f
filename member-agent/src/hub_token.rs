//! The token for the hub: renewed by this agent, and reported when it is no good.

use fleet_runtime::agent::{Agent, Connected};
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::Clock;
use fleet_runtime::credential::{Renewer, Standing, standing};

use crate::args::HubTokenArgs;
use crate::metrics;
use crate::snapshot::MemberSnapshot;

/// Reason that the agent is not ready, as scripts and alerts look for it.
pub const CREDENTIAL_EXPIRED: &str = "CredentialExpired";

/// What keeps an agent from being ready whose credential is no good.
pub fn obstacle(member: &str, standing: Standing) -> Option<String> {
    let what = match standing {
        Standing::Endless | Standing::Until(_) => return None,
        Standing::Expired(at) => format!("the token for the hub expired at {at}"),
        Standing::Rejected => "the hub rejects the credential of this member (401)".to_owned(),
    };
    Some(format!("{CREDENTIAL_EXPIRED}: {what}; run `fleetctl join {member} --secret` again"))
}

/// Lets an agent report that its credential is no good.
pub(crate) fn watch(agent: &mut Agent<MemberSnapshot>, member: &str, hub: &ClientSet) {
    let (member, credential, clock) = (member.to_owned(), hub.credential.clone(), Clock::system());
    agent.obstacle(move || obstacle(&member, standing(&credential, &clock)));
}

/// Renews the token, if the flags name its Secret.
pub(crate) fn renew(
    agent: &mut Connected<MemberSnapshot>,
    args: &HubTokenArgs,
    own: &ClientSet,
    hub: &ClientSet,
) -> Result<(), prometheus::Error> {
    let results = metrics::token_renewals(agent.registry())?;
    let Some(secret) = args.hub_token_secret.clone() else { return Ok(()) };
    agent.task("token renewal", |gate, cancel| {
        Renewer::new(hub, own, secret, args.settings(), gate, results).run(cancel)
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_that_is_no_good_is_reported_with_what_to_do() {
        let at = "2026-11-23T10:00:00Z".parse().unwrap();
        assert_eq!(obstacle("east", Standing::Endless), None);
        assert_eq!(obstacle("east", Standing::Until(at)), None);
        assert_eq!(
            obstacle("east", Standing::Expired(at)).unwrap(),
            "CredentialExpired: the token for the hub expired at 2026-11-23T10:00:00Z; run `fleetctl join east --secret` again"
        );
        let rejected = obstacle("east", Standing::Rejected).unwrap();
        assert!(rejected.starts_with("CredentialExpired: the hub rejects"), "{rejected}");
    }
}
