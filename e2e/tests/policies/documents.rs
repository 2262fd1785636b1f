//! What the chart renders is well-typed, can be switched, and is what the security page lists.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::limits::of_kind;
use fleet_testbed::apply::apply;
use fleet_testbed::policies;
use fleet_testbed::wait::wait_for;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::EXPORTED;
use crate::world::World;

/// What Helm keeps has it.
const KEPT: &str = "helm.sh/resource-policy";
const PAGE: &str = include_str!("../../../docs/security.md");
const RULES: u8 = 18;
/// For the controller that checks types.
const DEADLINE: Duration = Duration::from_mins(2);

pub(crate) fn add(tests: &mut Tests) {
    tests.add("documents::all_are_well_typed", all_are_well_typed);
    tests.add("documents::every_rule_has_a_switch", every_rule_has_a_switch);
    tests.add("documents::p2_has_every_bound", p2_has_every_bound);
    tests.add("documents::the_page_says_what_they_say", the_page_says_what_they_say);
}

/// Kubernetes checks validations against the definitions of the kinds, and warns. It does not check variables and match conditions,
/// so copies that nothing binds have them among their validations. One copy is wrong, to see that it is noticed.
async fn all_are_well_typed(world: &World) -> Result<()> {
    let api: Api<ValidatingAdmissionPolicy> = Api::all(world.admin.clone());
    let rendered = policies::render_multicluster(&json!({})).await?;
    let mut copies: Vec<_> = policies(&rendered).map(typed).collect();
    let mut wrong = copies[0].clone();
    wrong["metadata"]["name"] = json!("wrong.typed");
    wrong["spec"]["validations"] = json!([{ "expression": "object.spec.nothing == 1" }]);
    copies.push(wrong);
    for copy in &copies {
        apply(&world.admin, copy.clone()).await?;
    }
    let names = policies(&rendered).chain(&copies).map(|policy| name(policy).to_owned());
    for name in names {
        let warnings = warnings(&api, &name).await?;
        ensure!((warnings == "[]") != name.starts_with("wrong"), "{name}: {warnings}");
    }
    Ok(())
}

/// An error unless the types of a policy, and of its variables, are those of what it is about.
pub(crate) async fn is_well_typed(
    api: &Api<ValidatingAdmissionPolicy>,
    admin: &Client,
    policy: &Value,
) -> Result<()> {
    let copy = typed(policy);
    apply(admin, copy.clone()).await?;
    for name in [name(policy), name(&copy)] {
        let warnings = warnings(api, name).await?;
        ensure!(warnings == "[]", "{name}: {warnings}");
    }
    Ok(())
}

/// What the controller that checks types reports about a policy.
async fn warnings(api: &Api<ValidatingAdmissionPolicy>, name: &str) -> Result<String> {
    let checked = wait_for(&format!("the types of {name} are checked"), DEADLINE, async || {
        Ok(api.get(name).await?.status.and_then(|status| status.type_checking))
    })
    .await?;
    Ok(format!("{:#?}", checked.expression_warnings.unwrap_or_default()))
}

/// A copy of a policy whose validations have its variables and match conditions in them.
fn typed(policy: &Value) -> Value {
    let mut copy = policy.clone();
    copy["metadata"]["name"] = json!(format!("{}.typed", name(policy)));
    let of = |field: &str| policy["spec"][field].as_array().into_iter().flatten();
    let expressions =
        of("variables").chain(of("matchConditions")).filter_map(|it| it["expression"].as_str());
    let expressions: Vec<_> = expressions
        .map(|expression| json!({ "expression": format!("size([dyn({expression})]) == 1") }))
        .collect();
    if let Some(validations) = copy["spec"]["validations"].as_array_mut() {
        validations.extend(expressions);
    }
    copy
}

async fn every_rule_has_a_switch(_: &World) -> Result<()> {
    let all: BTreeSet<String> = (1..=RULES).map(|number| format!("P{number}")).collect();
    let rules = |objects: &[Value]| -> BTreeSet<String> {
        messages(objects).map(|(rule, _)| rule).collect()
    };
    ensure!(rules(&policies::render_multicluster(&json!({})).await?) == all, "all are there");
    let off: Vec<_> =
        all.iter().filter(|rule| ["P1", "P4", "P12"].contains(&rule.as_str())).collect();
    let switches: Value = off.iter().map(|rule| ((*rule).clone(), json!(false))).collect();
    let fewer =
        policies::render_multicluster(&json!({ "rules": switches, "failurePolicy": "Ignore" }))
            .await?;
    ensure!(rules(&fewer) == all.iter().filter(|rule| !off.contains(rule)).cloned().collect());
    let ignored = |object: &Value| object["spec"]["failurePolicy"] == "Ignore";
    ensure!(policies(&fewer).all(ignored), "the failure policy is that of the values");
    Ok(())
}

/// The chart has the bounds from a generated file, and a value may lower some.
async fn p2_has_every_bound(_: &World) -> Result<()> {
    let objects = policies::render_multicluster(&json!({ "limits": { "addresses": 7 } })).await?;
    for (kind, _) in EXPORTED {
        let wanted = format!("content-{}.{}", kind.plural, kind.group);
        let policy = policies(&objects).find(|policy| name(policy) == wanted);
        let variables = policy.context("a policy")?["spec"]["variables"].to_string();
        for (path, bound) in of_kind(kind.kind) {
            let max = if bound.field == "addresses" { 7 } else { bound.accepted };
            let text = format!("'{path} has more than {max} {}'", bound.unit.as_str());
            ensure!(variables.contains(&text), "{wanted} does not have: {text}");
        }
    }
    Ok(())
}

/// The table of docs/security.md has for each rule the messages that a refused writer reads.
async fn the_page_says_what_they_say(_: &World) -> Result<()> {
    let objects = policies::render_multicluster(&json!({})).await?;
    for (rule, message) in messages(&objects) {
        let row = format!("| {rule} |");
        let row = PAGE.lines().find(|line| line.starts_with(&row));
        let row = row.with_context(|| format!("docs/security.md has no row for {rule}"))?;
        ensure!(row.contains(&message), "the row of {rule} does not have: {message}");
    }
    let is_rule = |row: &str| row.starts_with(|first: char| first.is_ascii_digit());
    let rows =
        PAGE.lines().filter_map(|line| line.strip_prefix("| P")).filter(|row| is_rule(row)).count();
    ensure!(rows == usize::from(RULES), "{rows} rows");
    Ok(())
}

/// The policies that have rules. One that stays on uninstall has none.
fn policies(objects: &[Value]) -> impl Iterator<Item = &Value> {
    let of_rules = |object: &&Value| object["metadata"]["annotations"][KEPT] != "keep";
    objects.iter().filter(|object| object["kind"] == "ValidatingAdmissionPolicy").filter(of_rules)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Every rule with every message of it.
fn messages(objects: &[Value]) -> impl Iterator<Item = (String, String)> {
    let validations =
        policies(objects).filter_map(|policy| policy["spec"]["validations"].as_array());
    validations.flatten().map(|validation| {
        let message = validation["message"].as_str().unwrap_or_default();
        let (rule, text) = message.split_once(": ").unwrap_or_default();
        (rule.to_owned(), text.to_owned())
    })
}
