//! Reads what agents stand on.

use std::collections::BTreeSet;

use fleet_api::kinds::{CONFIG_MAP, NODE, RESOLVED_SERVICE};
use fleet_api::{ResourceKind, crds};
use fleet_model::multicluster::mode::Mode;
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::Clock;
use fleet_runtime::credential::Clocks;
use futures::join;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::kinds::{DAEMON_SET, DEFINITION};
use crate::deployments::{DEPLOYMENT, HUB_AGENT};
use crate::doctor::account::Account;
use crate::doctor::finding::{Read, Unread, known};
use crate::doctor::project::{self, base as from};
use crate::doctor::reader::{AT_ONCE, Reader, SYSTEM};
use crate::doctor::rights::{self, Right};
use crate::doctor::schema::compared;
use crate::doctor::seen::{Agent, Base, Install, Kind, Policy, Proxy, Token};

/// Label of what the charts make.
const OURS: &str = "app.kubernetes.io/part-of=fleet-networking";
const KUBE_PROXY: &str = "kube-proxy";
const POLICY: ResourceKind = ResourceKind {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
    namespaced: false,
};
const BINDING: ResourceKind = ResourceKind {
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    ..POLICY
};

/// Definitions that a cluster has to have, and those that only some features need.
struct Definitions {
    required: Vec<CustomResourceDefinition>,
    optional: Vec<CustomResourceDefinition>,
}

/// What the hub agent stands on.
pub(super) async fn of_hub(reader: &Reader) -> Base {
    let definitions = Definitions {
        required: [crds::networking(), crds::reports()].concat(),
        optional: [crds::multicluster(), crds::traffic(), crds::offloading(), crds::reachability()]
            .concat(),
    };
    let (deployments, kinds, policies) = join!(
        reader.list(DEPLOYMENT, None, HUB_AGENT),
        kinds(reader, &definitions),
        policies(reader),
    );
    let mut wanted = rights::of(rights::HUB);
    let has_standard = |kind: &Kind| kind.exists && kind.name.starts_with(RESOLVED_SERVICE.plural);
    if kinds.as_ref().is_ok_and(|kinds| kinds.iter().any(has_standard)) {
        wanted.extend(rights::of(rights::HUB_STANDARD));
    }
    of(reader, &deployments, kinds, policies, wanted).await
}

/// What a member agent stands on, with its Deployments and the flags in them.
pub(super) async fn of_member(
    reader: &Reader,
    deployments: &Read<Option<Vec<Value>>>,
    agent: &Read<Option<Agent>>,
) -> Base {
    let definitions =
        Definitions { required: crds::user_facing(), optional: crds::service_traffic() };
    let (kinds, policies) = join!(kinds(reader, &definitions), policies(reader));
    let mut wanted = rights::of(rights::MEMBER);
    if let Ok(Some(agent)) = agent {
        if agent.mode != Mode::Off {
            wanted.extend(rights::of(rights::MEMBER_STANDARD));
        }
        if agent.gives_hints {
            wanted.extend(rights::of(rights::MEMBER_TRAFFIC));
        }
    }
    of(reader, deployments, kinds, policies, wanted).await
}

async fn of(
    reader: &Reader,
    deployments: &Read<Option<Vec<Value>>>,
    kinds: Read<Vec<Kind>>,
    policies: Read<Vec<Policy>>,
    wanted: Vec<Right>,
) -> Base {
    let deployments = known(deployments).map(|found| found.as_deref().unwrap_or_default());
    let install = deployments.map(from::install);
    Base {
        lacks: lacks(reader, &install, &wanted).await,
        install,
        kubernetes: reader.version().await.map(|version| from::numbers(&version)),
        clock: clock(&reader.set),
        kinds,
        policies,
    }
}

async fn lacks(
    reader: &Reader,
    install: &Read<Option<Install>>,
    wanted: &[Right],
) -> Read<Vec<String>> {
    let Some(install) = known(install)? else {
        let reason =
            "no Deployment with the labels of the chart shows the ServiceAccount of the agent";
        return Err(Unread::new(
            reason,
            "if it runs elsewhere, compare its rights with rbac.yaml of the chart",
        ));
    };
    let placed =
        wanted.iter().map(|it| it.placed(&install.system_namespace, &install.lease_namespace));
    let placed: Vec<_> = placed.collect();
    let account = Account::service(&install.namespace, &install.account);
    reader.lacking(&account, &placed).await
}

/// Every answer of an API server has its time.
fn clock(set: &ClientSet) -> Read<i64> {
    let Clocks { own, server } = Clocks::of(&set.credential, &Clock::system());
    let missing =
        || Unread { reason: "answers of the API server have no time".to_owned(), advice: None };
    server.map(|server| server.as_second().saturating_sub(own.as_second())).ok_or_else(missing)
}

/// Each by its name: a list would have the definitions of all other programs, which are large.
async fn kinds(reader: &Reader, definitions: &Definitions) -> Read<Vec<Kind>> {
    let required = definitions.required.iter().map(|ours| (ours, true));
    let all = required.chain(definitions.optional.iter().map(|ours| (ours, false)));
    let asked = stream::iter(all).map(async |(ours, is_required)| {
        let name = ours.metadata.name.as_deref().unwrap_or_default();
        let theirs = reader.get(DEFINITION, None, name).await?;
        let is_shown = is_required || theirs.is_some();
        let compared =
            || compared(&serde_json::to_value(ours).unwrap_or_default(), theirs.as_ref());
        Ok(is_shown.then(compared))
    });
    asked.buffered(AT_ONCE).try_filter_map(async |kind| Ok(kind)).try_collect().await
}

async fn policies(reader: &Reader) -> Read<Vec<Policy>> {
    let (policies, bindings) =
        join!(reader.list(POLICY, None, OURS), reader.list(BINDING, None, OURS));
    let (policies, bindings) = (policies?.unwrap_or_default(), bindings?.unwrap_or_default());
    Ok(from::policies(&policies, &bindings))
}

/// The kube-proxy of a cluster.
pub(super) async fn proxy(reader: &Reader) -> Read<Option<Proxy>> {
    let Some(daemon_set) = reader.get(DAEMON_SET, Some(SYSTEM), KUBE_PROXY).await? else {
        return Ok(None);
    };
    let config = reader.get(CONFIG_MAP, Some(SYSTEM), KUBE_PROXY).await?;
    Ok(Some(from::proxy(&daemon_set, config.as_ref())))
}

/// The ranges of Pods of all nodes.
pub(super) async fn pod_ranges(reader: &Reader) -> Read<BTreeSet<String>> {
    let ranges = reader.list_of(NODE, None, "", |node| from::pod_ranges(&node)).await?;
    Ok(ranges.into_iter().flatten().collect())
}

/// The token of a member's agent, as the hub and the member show it.
pub(super) async fn token(hub: Option<&ClientSet>, name: &str, own: &Reader) -> Read<Token> {
    let unread = |reason: &str| Unread { reason: reason.to_owned(), advice: None };
    let hub = hub.ok_or_else(|| unread("the hub cannot be read"))?;
    let read = crate::credential::of_member(hub, name, &own.set.watch);
    let read = tokio::time::timeout(own.patience, read).await;
    let (status, secret) = read.map_err(|_| unread("the token was not read in time"))?;
    Ok(from::token(&status, secret, Clock::system().now()))
}

/// The names of objects of a kind.
pub(super) fn names(listed: Read<Option<Vec<Value>>>) -> Read<BTreeSet<String>> {
    listed.map(|found| project::names(&found.unwrap_or_default()))
}
