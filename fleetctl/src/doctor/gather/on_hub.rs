//! Reads what a member's agent may do on the hub.

use std::time::Duration;

use fleet_api::kinds::SERVICE_ACCOUNT;
use fleet_api::names::member_namespace;
use fleet_runtime::clients::ClientSet;
use serde_json::Value;

use crate::doctor::account::Account;
use crate::doctor::fields::name;
use crate::doctor::finding::{Read, Unread, known};
use crate::doctor::reader::Reader;
use crate::doctor::rights::on_hub;
use crate::doctor::seen::{Agent, Feature, OnHub};
use crate::rbac::ROLE_BINDING;

/// The ServiceAccount that the chart and `fleetctl join` make.
const ACCOUNT: &str = "member-agent";

/// The hub, as members are looked at.
#[derive(Clone, Copy)]
pub(super) struct HubOf<'a> {
    /// Its clients, if it can be read.
    pub(super) set: Option<&'a ClientSet>,
    /// Whether it serves what the standard API needs.
    pub(super) serves_standard: bool,
}

/// The rights of a member there.
pub(super) async fn rights(
    hub: HubOf<'_>,
    patience: Duration,
    member: &str,
    agent: &Read<Option<Agent>>,
) -> Read<OnHub> {
    let unread = || Unread { reason: "the hub cannot be read".to_owned(), advice: None };
    let reader = Reader { set: hub.set.ok_or_else(unread)?.clone(), patience };
    let mut features = known(agent)?.as_ref().map(|it| it.features.clone()).unwrap_or_default();
    if !hub.serves_standard {
        features.remove(&Feature::Standard);
    }
    let namespace = member_namespace(member);
    let bindings = reader.list(ROLE_BINDING, Some(&namespace), "").await?.unwrap_or_default();
    let of_chart = Account::service(&namespace, ACCOUNT);
    let account = match bound(&bindings, member, &namespace) {
        Some(account) => account,
        None if has_account(&reader, &namespace).await? => of_chart.clone(),
        None => {
            let reason = format!("no binding of its role is found in {namespace}");
            return Err(Unread { reason, advice: None });
        }
    };
    let wanted = on_hub(member, &features, account == of_chart);
    let lacks = reader.lacking(&account, &wanted).await?;
    Ok(OnHub { account: account.to_string(), lacks })
}

/// Whether the chart's ServiceAccount is there. Administrators of KubeFleet bind roles of their own.
async fn has_account(reader: &Reader, namespace: &str) -> Read<bool> {
    let accounts = reader.list(SERVICE_ACCOUNT, Some(namespace), "").await?;
    Ok(accounts.unwrap_or_default().iter().any(|account| name(account) == ACCOUNT))
}

/// The account that the role of members is bound to: that of the chart, or the identity that KubeFleet knows.
fn bound(bindings: &[Value], member: &str, namespace: &str) -> Option<Account> {
    let (binding, role) = (format!("fleet-rolebinding-{member}"), format!("fleet-role-{member}"));
    let named = bindings.iter().find(|it| name(it) == binding);
    let found = named.or_else(|| bindings.iter().find(|it| it["roleRef"]["name"] == *role))?;
    let mut subjects = found["subjects"].as_array().into_iter().flatten();
    subjects.find_map(|subject| Account::of_subject(subject, namespace))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_account_of_a_member_is_that_of_its_binding() {
        let binding = |name: &str, role: &str, user: &str| {
            json!({
                "metadata": { "name": name }, "roleRef": { "name": role },
                "subjects": [{ "kind": "User", "name": user }],
            })
        };
        let of = |bindings: &[Value]| bound(bindings, "west", "ns").map(|it| it.user);
        let other = binding("other", "view", "a");
        let usual = binding("fleet-rolebinding-west", "mine", "b");
        let by_role = binding("c", "fleet-role-west", "c");
        assert_eq!(of(&[other.clone(), by_role.clone(), usual]).as_deref(), Some("b"));
        assert_eq!(of(&[other.clone(), by_role]).as_deref(), Some("c"));
        assert_eq!(of(&[other]), None);
    }
}
