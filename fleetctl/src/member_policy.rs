//! The policy of a member on the hub, as `fleetctl join` writes it. It allows everything that flags do not restrict: what a
//! member is for is not known here, and a strict hub accepts nothing new of a member without a policy.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};
use fleet_accumulator::one_line;
use fleet_api::{kinds, names};
use fleet_model::objects::MemberPolicy;
use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::member_objects::MANAGED_BY;
use crate::objects::{api, delete, find};
use crate::output::report;
use crate::policy_args::PolicyArgs;

/// Any address that the hub does not reserve.
const ANYWHERE: &str = "0.0.0.0/0,::/0";
/// Any Service.
const ANY: &str = "*";
/// What Helm names itself in the label of objects that it manages.
const HELM: &str = "Helm";

/// The entries of a member policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Data(BTreeMap<String, String>);

impl Data {
    /// The entries that flags set.
    fn given(args: &PolicyArgs) -> Self {
        let entries =
            [("cidrs", &args.cidrs), ("exports", &args.exports), ("imports", &args.imports)];
        let given = entries.into_iter().filter_map(|(key, value)| Some((key, value.clone()?)));
        Self(given.map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// A policy that allows everything but what these entries restrict.
    fn whole(self) -> Self {
        let all = [("cidrs", ANYWHERE), ("exports", ANY), ("imports", ANY)];
        let all = all.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self(BTreeMap::from(all).into_iter().chain(self.0).collect())
    }

    /// The entries of a ConfigMap.
    fn of(policy: &DynamicObject) -> Self {
        serde_json::from_value(policy.data["data"].clone()).map(Self).unwrap_or_default()
    }

    /// These entries, with others in their place.
    fn with(&self, others: &Self) -> Self {
        Self(self.0.clone().into_iter().chain(others.0.clone()).collect())
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.0.iter().enumerate() {
            let shown = if value.is_empty() { "none" } else { value };
            write!(f, "{}{key} {shown}", if at > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// Writes the policy of a member that has none, or what flags set of the one that it has, and reports what it allows. Fails
/// only if flags ask for what cannot be written.
///
/// # Errors
/// One line with the reason.
pub(crate) async fn write(
    hub: &Client,
    member: &str,
    args: &PolicyArgs,
    dry_run: bool,
) -> Result<()> {
    let given = Data::given(args);
    match try_write(hub, member, &given, dry_run).await {
        Ok(text) => report(&text),
        Err(error) if given.0.is_empty() => report(&format!(
            "No member policy was written for {member}: {error:#}. A hub with policies.strict accepts no new export or import \
             of a member without one; an administrator of the hub writes it: docs/security.md#member-policies"
        )),
        Err(error) => return Err(error),
    }
    Ok(())
}

async fn try_write(hub: &Client, member: &str, given: &Data, dry_run: bool) -> Result<String> {
    let (kind, namespace) = (kinds::CONFIG_MAP, names::member_namespace(member));
    let title = format!("{} {}", kind.kind, MemberPolicy::NAME);
    if let Some(present) = find(hub, kind, Some(&namespace), MemberPolicy::NAME).await? {
        return change(hub, member, &present, given, dry_run).await;
    }
    let data = given.clone().whole();
    if dry_run {
        return Ok(format!("Would create {title}: {data}"));
    }
    let (label, ours) = MANAGED_BY;
    let policy = serde_json::from_value(json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata":
            { "name": MemberPolicy::NAME, "namespace": namespace, "labels": { label: ours } },
        "data": data.0,
    }))?;
    let policies = api(hub.clone(), kind, Some(&namespace));
    let created = policies.create(&PostParams::default(), &policy).await;
    created.map_err(|error| anyhow::anyhow!("create {title}: {}", one_line(&error)))?;
    let hint =
        if given.0.is_empty() { ". Restrict it with --cidrs, --exports, --imports" } else { "" };
    Ok(format!("Applied {title}: {data}{hint}"))
}

/// Changes what flags set of a policy that is there.
async fn change(
    hub: &Client,
    member: &str,
    present: &DynamicObject,
    given: &Data,
    dry_run: bool,
) -> Result<String> {
    let title = format!("{} {}", kinds::CONFIG_MAP.kind, MemberPolicy::NAME);
    let (before, labels) = (Data::of(present), present.metadata.labels.as_ref());
    let after = before.with(given);
    if after == before {
        return Ok(format!("Unchanged: {title}: {before}"));
    }
    let (label, _) = MANAGED_BY;
    if labels.and_then(|labels| labels.get(label)).is_some_and(|by| by == HELM) {
        bail!(
            "the chart hub-agent manages the member policy of {member}: change its value policies.members.{member}"
        );
    }
    if dry_run {
        return Ok(format!("Would update {title}: {after}"));
    }
    let namespace = names::member_namespace(member);
    let version = &present.metadata.resource_version;
    let patch = json!({ "metadata": { "resourceVersion": version }, "data": given.0 });
    let policies = api(hub.clone(), kinds::CONFIG_MAP, Some(&namespace));
    let patch = Patch::Merge(patch);
    let patched = policies.patch(MemberPolicy::NAME, &PatchParams::default(), &patch).await;
    patched.map_err(|error| anyhow::anyhow!("update {title}: {}", one_line(&error)))?;
    Ok(format!("Applied {title}: {after}"))
}

/// Deletes the policy of a member if `join` has created it, and reports what became of it.
pub(crate) async fn remove(hub: &Client, namespace: &str) {
    let title = format!("{} {}", kinds::CONFIG_MAP.kind, MemberPolicy::NAME);
    match try_remove(hub, namespace).await {
        Ok(true) => report(&format!("Deleted {title}")),
        Ok(false) => {}
        Err(error) => report(&format!("Kept {title}: {error:#}")),
    }
}

async fn try_remove(hub: &Client, namespace: &str) -> Result<bool> {
    let kind = kinds::CONFIG_MAP;
    let policy = find(hub, kind, Some(namespace), MemberPolicy::NAME).await?;
    let labels = policy.and_then(|policy| policy.metadata.labels).unwrap_or_default();
    let (label, ours) = MANAGED_BY;
    if labels.get(label).is_none_or(|by| by != ours) {
        return Ok(false);
    }
    delete(hub, kind, Some(namespace), MemberPolicy::NAME).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(data: &[(&str, &str)]) -> Data {
        Data(data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_member_is_allowed_everything_that_flags_do_not_restrict() {
        let args = PolicyArgs { exports: Some("shop/*".to_owned()), ..PolicyArgs::default() };
        let whole = Data::given(&args).whole();
        let expected = [("cidrs", ANYWHERE), ("exports", "shop/*"), ("imports", "*")];
        assert_eq!(whole, policy(&expected));
        assert_eq!(whole.to_string(), "cidrs 0.0.0.0/0,::/0; exports shop/*; imports *");
        let none = policy(&[("exports", "")]);
        assert_eq!(none.to_string(), "exports none");
    }

    #[test]
    fn what_flags_do_not_set_of_a_policy_stays() {
        let before = policy(&[("cidrs", "10.1.0.0/16"), ("exports", "shop/*"), ("imports", "")]);
        let given = policy(&[("imports", "*")]);
        let after = policy(&[("cidrs", "10.1.0.0/16"), ("exports", "shop/*"), ("imports", "*")]);
        assert_eq!(before.with(&given), after);
        assert_eq!(before.with(&Data::given(&PolicyArgs::default())), before);
    }
}
