//! What is reported about a member's credential. Pure.

use std::time::Duration;

use fleet_runtime::credential::{Claims, Clocks, Renewal, Standing, TokenSettings, renewal};
use jiff::Timestamp;
use serde::Serialize;

use super::place::Place;

/// A member's credential for the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialStatus {
    /// `renewed` by the member agent, `kept` as it is, renewed by the `kubelet`, `expired` (or rejected by the hub), or `unknown`.
    pub state: &'static str,
    /// When it expires or has expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// What the user should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

impl CredentialStatus {
    /// That of a member which has not answered in time.
    pub(super) fn late() -> Self {
        let says = Some("the token was not read in time".to_owned());
        Self { state: "unknown", expires: None, says }
    }
}

/// What is known.
#[derive(Clone, Debug)]
pub(super) enum Evidence {
    /// The token in the Secret of the member.
    Token {
        claims: Option<Claims>,
        /// Whether the agent is to renew it.
        renews: bool,
        /// Whether the hub accepts it, if it was asked.
        is_accepted: Option<bool>,
        /// Whether the hub lets its account renew it, if it was asked.
        may_renew: Option<bool>,
    },
    /// It is no token in a Secret.
    Elsewhere(Place),
    /// This Secret cannot be read.
    Unread(String),
}

/// Judges a member's credential.
pub(super) fn judge(member: &str, evidence: &Evidence, clocks: Clocks) -> CredentialStatus {
    let status = |state, expires: Option<Timestamp>, says| CredentialStatus {
        state,
        expires: expires.map(|at| at.to_string()),
        says,
    };
    let (claims, renews, is_accepted, may_renew) = match evidence {
        Evidence::Token { claims, renews, is_accepted, may_renew } => {
            (claims.as_ref(), *renews, *is_accepted, *may_renew)
        }
        Evidence::Elsewhere(Place::Projected) => return status("kubelet", None, None),
        Evidence::Elsewhere(_) => return status("kept", None, None),
        Evidence::Unread(secret) => {
            let says = format!("the Secret {secret} cannot be read");
            return status("unknown", None, Some(says));
        }
    };
    let standing = Standing::of(claims, clocks, is_accepted == Some(false));
    if let Some(says) = member_agent::hub_token::obstacle(member, standing) {
        return status("expired", standing.expires(), Some(says));
    }
    let kept = |reason: &str| {
        let until =
            standing.expires().map(|at| format!(", and expires at {at}")).unwrap_or_default();
        let says = format!("its token for the hub is not renewed{until}: {reason}");
        status("kept", standing.expires(), Some(says))
    };
    match renewal(claims, &defaults()) {
        Renewal::Never(why) => kept(&why.to_string()),
        _ if !renews => kept("its agent does not do so (`token.renew` of its chart)"),
        _ if may_renew == Some(false) => kept(&format!(
            "the hub does not let it; `fleetctl join {member} --print nothing`, or an upgrade of the hub's chart, grants the right"
        )),
        Renewal::Due(_) => status("renewed", standing.expires(), None),
    }
}

/// Whether a token can be renewed at all does not depend on them.
fn defaults() -> TokenSettings {
    TokenSettings { lifetime: Duration::from_hours(24), audiences: Vec::new() }
}

#[cfg(test)]
mod tests {
    use fleet_runtime::credential::Account;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn claims(expires: Option<i64>) -> Claims {
        let account =
            Account { namespace: "fleet-member-east".into(), name: "member-agent".into() };
        let audiences = vec!["hub".to_owned()];
        Claims { expires: expires.map(at), issued: Some(at(0)), account: Some(account), audiences }
    }

    fn clocks(second: i64) -> Clocks {
        Clocks { own: at(second), server: Some(at(second)) }
    }

    fn token(claims: Option<Claims>) -> Evidence {
        Evidence::Token { claims, renews: true, is_accepted: Some(true), may_renew: Some(true) }
    }

    fn judged(evidence: &Evidence, now: i64) -> (&'static str, String) {
        let status = judge("east", evidence, clocks(now));
        (status.state, status.says.unwrap_or_default())
    }

    #[test]
    fn a_token_that_is_renewed_is_nothing_to_talk_about() {
        assert_eq!(judged(&token(Some(claims(Some(100)))), 50), ("renewed", String::new()));
        let status = judge("east", &token(Some(claims(Some(100)))), clocks(50));
        assert_eq!(status.expires, Some(at(100).to_string()));
    }

    #[test]
    fn a_token_that_is_no_good_says_what_to_do() {
        let (state, says) = judged(&token(Some(claims(Some(100)))), 100);
        assert_eq!(state, "expired");
        assert!(says.contains("CredentialExpired: the token for the hub expired at"), "{says}");
        assert!(says.contains("fleetctl join east --secret"), "{says}");
        let rejected = Evidence::Token {
            claims: Some(claims(None)),
            renews: false,
            is_accepted: Some(false),
            may_renew: None,
        };
        let (state, says) = judged(&rejected, 50);
        assert!(state == "expired" && says.contains("the hub rejects"), "{says}");
    }

    #[test]
    fn a_token_that_stays_as_it_is_says_why() {
        let (state, says) = judged(&token(Some(claims(None))), 50);
        assert_eq!(
            (state, says.as_str()),
            ("kept", "its token for the hub is not renewed: it never expires")
        );
        let (state, says) = judged(&token(None), 50);
        assert!(state == "kept" && says.contains("not a token of a ServiceAccount"), "{says}");
        for (renews, may_renew, reason) in
            [(false, Some(true), "`token.renew`"), (true, Some(false), "the hub does not let it")]
        {
            let evidence = Evidence::Token {
                claims: Some(claims(Some(100))),
                renews,
                is_accepted: None,
                may_renew,
            };
            let (state, says) = judged(&evidence, 50);
            assert!(
                state == "kept" && says.contains(reason) && says.contains("expires at"),
                "{says}"
            );
        }
        let unasked = Evidence::Token {
            claims: Some(claims(Some(100))),
            renews: true,
            is_accepted: None,
            may_renew: None,
        };
        assert_eq!(judged(&unasked, 50).0, "renewed");
    }

    #[test]
    fn what_is_no_token_in_a_secret_is_the_users_own() {
        assert_eq!(judged(&Evidence::Elsewhere(Place::Projected), 0).0, "kubelet");
        assert_eq!(judged(&Evidence::Elsewhere(Place::Kubeconfig), 0), ("kept", String::new()));
        assert_eq!(judged(&Evidence::Unread("a/b/c".to_owned()), 0).0, "unknown");
    }
}
