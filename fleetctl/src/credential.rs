//! Members' credentials for the hub: whether the hub accepts them, until when, and whether the agent renews them.
//!
//! The token is read from the Secret that the agent's Deployment mounts, if the user may read it, and sent to the hub alone,
//! whose TokenReview contains whether it accepts it.

mod judge;
mod place;
mod rejoin;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, anyhow};
use fleet_accumulator::one_line;
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::Clock;
use fleet_runtime::credential::{Account, Claims, Clocks, SecretKey};
use futures::future::join_all;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};

pub use judge::CredentialStatus;
use judge::Evidence;
pub(crate) use place::Place;
pub(crate) use rejoin::{join, join_with_secret};

use crate::deployments::MEMBER_AGENT;

/// The credentials of the members whose clusters can be read. Each member has this time to answer.
pub(crate) async fn read<'a>(
    hub: &ClientSet,
    members: impl Iterator<Item = (&'a String, &'a ClientSet)>,
    patience: Duration,
) -> BTreeMap<String, CredentialStatus> {
    let read = members.map(async |(name, own)| {
        let status = tokio::time::timeout(patience, of_member(hub, name, &own.watch)).await;
        (name.clone(), status.map_or_else(|_| CredentialStatus::late(), |(status, _)| status))
    });
    join_all(read).await.into_iter().collect()
}

/// The credential of one member, whose cluster is read with this client, and the Secret that its agent has the token from, if that is
/// known.
pub(crate) async fn of_member(
    hub: &ClientSet,
    name: &str,
    own: &Client,
) -> (CredentialStatus, Option<SecretKey>) {
    let found = place_of(own).await.ok();
    let place = found.clone().unwrap_or_else(|| Place::of(None));
    let evidence = evidence(hub, own, place).await;
    let status = judge::judge(name, &evidence, Clocks::of(&hub.credential, &Clock::system()));
    (status, found.and_then(Place::secret))
}

/// Where the agent of a member has its credential from, by the Deployment of the chart in its cluster.
///
/// # Errors
/// If the Deployments cannot be listed.
pub(crate) async fn place_of(own: &Client) -> Result<Place> {
    let deployments: Api<Deployment> = Api::all(own.clone());
    let found = deployments.list(&ListParams::default().labels(MEMBER_AGENT)).await;
    let found = found.map_err(|error| anyhow!("list Deployments: {}", one_line(&error)))?;
    Ok(Place::of(found.items.first()))
}

async fn evidence(hub: &ClientSet, own: &Client, place: Place) -> Evidence {
    let (key, renews) = match place {
        Place::Secret { key, renews } => (key, renews),
        elsewhere => return Evidence::Elsewhere(elsewhere),
    };
    let secrets: Api<Secret> = Api::namespaced(own.clone(), &key.namespace);
    let token = secrets.get(&key.name).await.ok().and_then(|secret| secret.data);
    let token = token.and_then(|mut data| String::from_utf8(data.remove(&key.key)?.0).ok());
    let Some(token) = token else { return Evidence::Unread(key.to_string()) };
    let claims = Claims::of(&token);
    let may_renew = match claims.as_ref().and_then(|claims| claims.account.as_ref()) {
        Some(account) => may_renew(&hub.watch, account).await,
        None => None,
    };
    Evidence::Token { claims, renews, is_accepted: accepts(&hub.watch, token).await, may_renew }
}

/// Whether the hub accepts a token; `None` if the user may not ask.
async fn accepts(hub: &Client, token: String) -> Option<bool> {
    let spec =
        TokenReviewSpec { token: Some(token.trim().to_owned()), ..TokenReviewSpec::default() };
    let review = TokenReview { spec, ..TokenReview::default() };
    let reviews: Api<TokenReview> = Api::all(hub.clone());
    let answer = reviews.create(&PostParams::default(), &review).await.ok()?;
    Some(answer.status?.authenticated.unwrap_or_default())
}

/// Whether a ServiceAccount may create tokens of its own; `None` if the user may not ask.
async fn may_renew(hub: &Client, account: &Account) -> Option<bool> {
    let Account { namespace, name } = account;
    let of = "system:serviceaccounts";
    let spec = SubjectAccessReviewSpec {
        user: Some(format!("system:serviceaccount:{namespace}:{name}")),
        groups: Some(vec![
            of.to_owned(),
            format!("{of}:{namespace}"),
            "system:authenticated".to_owned(),
        ]),
        resource_attributes: Some(ResourceAttributes {
            verb: Some("create".to_owned()),
            resource: Some("serviceaccounts".to_owned()),
            subresource: Some("token".to_owned()),
            namespace: Some(namespace.clone()),
            name: Some(name.clone()),
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews: Api<SubjectAccessReview> = Api::all(hub.clone());
    let answer = reviews.create(&PostParams::default(), &review).await.ok()?;
    Some(answer.status?.allowed)
}

#[cfg(test)]
mod tests {
    use fleet_runtime::clients::Credential;
    use kube::Config;

    use super::*;

    /// A cluster that takes connections and sends nothing.
    fn silent(listener: &std::net::TcpListener) -> ClientSet {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = Client::try_from(Config::new(url.parse().unwrap())).unwrap();
        ClientSet {
            watch: client.clone(),
            write: client.clone(),
            lease: client.clone(),
            fresh: client,
            url,
            is_verified: true,
            credential: Credential::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_is_lost_is_not_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (cluster, name) = (silent(&listener), "west".to_owned());
        let patience = Duration::from_secs(10);
        let found = read(&cluster, [(&name, &cluster)].into_iter(), patience).await;
        assert_eq!(found[&name], CredentialStatus::late());
        let versions = crate::agent_version::read([(&name, &cluster)].into_iter(), patience).await;
        assert_eq!(versions, BTreeMap::new());
    }
}
