//! `policies.strict`: a new installation is strict, and an upgrade from an earlier release stops until the values have it.

use anyhow::{Context, Result, ensure};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::helm::{Helm, Release, chart};
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::{Bare, Options};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::{both_helms, of_kind};

const MARK: &str = "networking.fleet.azure.com/strict";
/// The policy that upgrades read.
const POLICY: &str = "member-endpointsliceexports.networking.fleet.azure.com";
/// With which Helm stops.
const SENTENCE: &str = "policies.strict is not set, and this release is older than the choice";

async fn rendered(policies: &Value, arguments: &[&str]) -> Vec<Value> {
    let (helm, place) = (Helm::v4().await.unwrap(), (NAMESPACE, "hub-agent"));
    let values = json!({ "policies": policies });
    let text = helm.template_text(&chart("hub-agent"), place, &values, arguments).await.unwrap();
    fleet_testbed::helm::documents(&text).unwrap()
}

/// Whether the bindings reject what is new of members without a member policy, and what the policies note.
fn strictness(objects: &[Value]) -> (bool, Vec<&str>) {
    let bindings = of_kind(objects, "ValidatingAdmissionPolicyBinding");
    let denies =
        |binding: &&Value| binding["spec"]["paramRef"]["parameterNotFoundAction"] == "Deny";
    let policies = of_kind(objects, "ValidatingAdmissionPolicy");
    let marks = policies.iter().filter_map(|it| it["metadata"]["annotations"][MARK].as_str());
    (bindings.iter().any(denies), marks.collect())
}

/// Neither GitOps tools, which render without a cluster, nor a rendered upgrade stop.
#[tokio::test]
async fn a_new_installation_is_strict() {
    for (values, arguments, expected) in [
        (json!({}), &[][..], true),
        (json!({ "strict": true }), &[], true),
        (json!({ "strict": false }), &[], false),
        (json!({}), &["--is-upgrade"], true),
        (json!({ "strict": false }), &["--is-upgrade"], false),
    ] {
        let objects = rendered(&values, arguments).await;
        let (strict, marks) = strictness(&objects);
        let mark = if expected { "true" } else { "false" };
        assert_eq!((strict, marks), (expected, vec![mark; 3]), "{values} {arguments:?}");
    }
    let off = rendered(&json!({ "enabled": false }), &[]).await;
    assert_eq!(strictness(&off), (false, Vec::new()));
}

#[tokio::test]
async fn the_hub_agent_withdraws_where_p6_rejects() {
    for (values, expected) in [
        (json!({}), true),
        (json!({ "withdraw": false }), false),
        (json!({ "withdraw": null }), true),
        (json!({ "enabled": false }), false),
        (json!({ "rules": { "P6": false } }), false),
        (json!({ "validationActions": ["Warn", "Audit"] }), false),
    ] {
        let objects = rendered(&values, &[]).await;
        let deployment = &of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"];
        let variables = &deployment["containers"][0]["env"];
        let variable = json!({ "name": "ENFORCE_MEMBER_POLICIES", "value": expected.to_string() });
        assert!(variables.as_array().unwrap().contains(&variable), "{values}: {variables}");
    }
}

#[tokio::test]
async fn an_upgrade_stops_until_somebody_has_chosen() {
    let bare = Bare::start(&["hub"], &Options::default()).await.unwrap();
    let hub = &bare.clusters()[0];
    for helm in both_helms().await {
        let place = (NAMESPACE, "hub-agent");
        let release = helm.release(hub.kubeconfig_path(), place, chart("hub-agent"));
        chosen_once(hub, &release).await.unwrap();
        release.uninstall().await.unwrap();
    }
}

async fn chosen_once(hub: &Cluster, release: &Release<'_>) -> Result<()> {
    let (unset, given) = (json!({}), |strict| json!({ "policies": { "strict": strict } }));
    release.install(&unset, &[]).await?;
    ensure!(strict_on(hub).await? == (3, Some("true".to_owned())), "a new installation");
    release.upgrade(&unset, &[]).await?;
    ensure!(strict_on(hub).await?.0 == 3, "an upgrade keeps what the hub has");
    release.upgrade(&given(false), &[]).await?;
    ensure!(strict_on(hub).await? == (0, Some("false".to_owned())), "chosen");
    for kept in [&[][..], &["--reset-then-reuse-values"], &["--reuse-values"]] {
        release.upgrade(&unset, kept).await?;
        ensure!(strict_on(hub).await?.0 == 0, "an upgrade keeps what was chosen {kept:?}");
    }
    release.upgrade(&unset, &["--reset-values"]).await?;
    // As a release of 0.1 is, whose values do not have it.
    older(hub).await?;
    for kept in [&[][..], &["--reset-then-reuse-values"], &["--dry-run=server"]] {
        let stopped = release.upgrade(&unset, kept).await.err().context("it did not stop")?;
        let text = format!("{stopped:#}");
        ensure!(text.contains(SENTENCE) && text.contains("docs/upgrade.md#strict"), "{text}");
    }
    ensure!(strict_on(hub).await? == (0, None), "nothing has changed");
    release.upgrade(&given(true), &["--reset-then-reuse-values"]).await?;
    ensure!(strict_on(hub).await? == (3, Some("true".to_owned())), "chosen again");
    release.upgrade(&json!({ "policies": { "enabled": false } }), &[]).await?;
    ensure!(strict_on(hub).await? == (0, None), "without policies there is nothing to choose");
    let again = json!({ "policies": { "enabled": true } });
    let stopped = release.upgrade(&again, &[]).await.err().context("it did not stop")?;
    ensure!(format!("{stopped:#}").contains(SENTENCE), "policies for members that had none");
    Ok(())
}

/// How many bindings reject what is new of members without a member policy, and what the policies note.
async fn strict_on(hub: &Cluster) -> Result<(usize, Option<String>)> {
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(hub.client());
    let bindings = bindings.list(&ListParams::default()).await?;
    let strict = bindings.iter().filter(|binding| {
        let spec = binding.spec.as_ref().and_then(|spec| spec.param_ref.as_ref());
        spec.is_some_and(|it| it.parameter_not_found_action.as_deref() == Some("Deny"))
    });
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(hub.client());
    let policy = policies.get_opt(POLICY).await?;
    let marks = policy.and_then(|policy| policy.metadata.annotations).unwrap_or_default();
    Ok((strict.count(), marks.get(MARK).cloned()))
}

/// Takes off what earlier releases do not have.
async fn older(hub: &Cluster) -> Result<()> {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(hub.client());
    let without = Patch::Merge(json!({ "metadata": { "annotations": { MARK: null } } }));
    policies.patch(POLICY, &PatchParams::default(), &without).await?;
    Ok(())
}
