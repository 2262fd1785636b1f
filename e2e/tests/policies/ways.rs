//! Every way to write an object, and what becomes of it.

use anyhow::{Context, Result, bail, ensure};
use fleet_api::ResourceKind;
use fleet_testbed::objects::api;
use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

/// A way to change an object that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Put,
    MergePatch,
    JsonPatch,
    Apply,
}

pub(crate) const WAYS: [Way; 4] = [Way::Put, Way::MergePatch, Way::JsonPatch, Way::Apply];
/// Those that can take something away which another user has put there.
pub(crate) const REMOVING: [Way; 3] = [Way::Put, Way::MergePatch, Way::JsonPatch];

fn parse(value: &Value) -> Result<DynamicObject> {
    serde_json::from_value(value.clone()).context("this is no object")
}

fn names(object: &Value) -> Result<(Option<&str>, &str)> {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str();
    Ok((namespace, metadata["name"].as_str().context("an object without name")?))
}

/// Makes an object.
pub(crate) async fn create(
    client: &Client,
    kind: ResourceKind,
    object: &Value,
) -> Result<kube::Result<Value>> {
    let (namespace, _) = names(object)?;
    let api = api(client.clone(), kind, namespace);
    value(api.create(&PostParams::default(), &parse(object)?).await)
}

/// Tries whether an object could be made.
pub(crate) async fn dry_run(
    client: &Client,
    kind: ResourceKind,
    object: &Value,
) -> Result<kube::Result<()>> {
    let (namespace, _) = names(object)?;
    let api = api(client.clone(), kind, namespace);
    let params = PostParams { dry_run: true, ..PostParams::default() };
    Ok(api.create(&params, &parse(object)?).await.map(|_| ()))
}

/// Makes an object by server-side apply.
pub(crate) async fn create_by_apply(
    client: &Client,
    kind: ResourceKind,
    object: &Value,
) -> Result<kube::Result<Value>> {
    let (namespace, name) = names(object)?;
    let params = PatchParams::apply("test").force();
    let api = api(client.clone(), kind, namespace);
    value(api.patch(name, &params, &Patch::Apply(object)).await)
}

/// Changes an object, or its status, from what it is now into what `to` makes of it.
pub(crate) async fn change(
    client: &Client,
    kind: ResourceKind,
    object: &Value,
    way: Way,
    to: impl Fn(&mut Value),
) -> Result<kube::Result<Value>> {
    let (namespace, name) = names(object)?;
    let api = api(client.clone(), kind, namespace);
    let current = &serde_json::to_value(api.get(name).await?)?;
    let mut wanted = current.clone();
    to(&mut wanted);
    let status = wanted["status"] != current["status"];
    let subresource = if status { Some("status") } else { None };
    let params = PatchParams::default();
    let answer = match way {
        Way::Put if status => {
            let body = parse(&wanted)?;
            api.replace_subresource("status", name, &PostParams::default(), &body).await
        }
        Way::Put => api.replace(name, &PostParams::default(), &parse(&wanted)?).await,
        Way::MergePatch => {
            let patch = Patch::Merge(merge_patch(current, &wanted));
            patched(&api, subresource, name, &params, &patch).await
        }
        Way::JsonPatch => {
            let patch = serde_json::from_value(json_patch(current, &wanted))?;
            patched(&api, subresource, name, &params, &Patch::Json::<()>(patch)).await
        }
        Way::Apply => {
            let patch = applied(current, &wanted);
            let params = PatchParams::apply("attacker").force();
            patched(&api, subresource, name, &params, &Patch::Apply(patch)).await
        }
    };
    value(answer)
}

async fn patched<P: serde::Serialize + std::fmt::Debug>(
    api: &kube::Api<DynamicObject>,
    subresource: Option<&str>,
    name: &str,
    params: &PatchParams,
    patch: &Patch<P>,
) -> kube::Result<DynamicObject> {
    match subresource {
        Some(subresource) => api.patch_subresource(subresource, name, params, patch).await,
        None => api.patch(name, params, patch).await,
    }
}

/// Deletes an object.
pub(crate) async fn delete(
    client: &Client,
    kind: ResourceKind,
    object: &Value,
) -> Result<kube::Result<()>> {
    let (namespace, name) = names(object)?;
    let api = api(client.clone(), kind, namespace);
    Ok(api.delete(name, &DeleteParams::default()).await.map(|_| ()))
}

/// Deletes all objects of a kind in a namespace that have these fields, in one request.
pub(crate) async fn delete_collection(
    client: &Client,
    kind: ResourceKind,
    namespace: &str,
    fields: &str,
) -> kube::Result<()> {
    let api = api(client.clone(), kind, Some(namespace));
    let chosen = ListParams::default().fields(fields);
    api.delete_collection(&DeleteParams::default(), &chosen).await.map(|_| ())
}

fn value(answer: kube::Result<DynamicObject>) -> Result<kube::Result<Value>> {
    Ok(match answer {
        Ok(object) => Ok(serde_json::to_value(object)?),
        Err(error) => Err(error),
    })
}

/// An error unless a policy refused the write because of this rule.
pub(crate) fn refused<T>(what: &str, answer: kube::Result<T>, rule: &str) -> Result<()> {
    match answer {
        Ok(_) => bail!("{what}: it passed, {rule} should refuse it"),
        Err(kube::Error::Api(status)) => {
            ensure!([403, 422].contains(&status.code), "{what}: {status:?}");
            let message = &status.message;
            ensure!(message.contains(&format!("denied request: {rule}: ")), "{what}: {message}");
            Ok(())
        }
        Err(error) => Err(error).context(what.to_owned()),
    }
}

/// What became of a write that is legal.
pub(crate) fn passed<T>(what: &str, answer: kube::Result<T>) -> Result<T> {
    answer.with_context(|| format!("{what}: a legal write is refused"))
}

/// An error unless a change is refused in each of these ways.
pub(crate) async fn refused_by_all(
    (what, ways): (&str, &[Way]),
    client: &Client,
    kind: ResourceKind,
    object: &Value,
    to: impl Fn(&mut Value),
    rule: &str,
) -> Result<()> {
    for way in ways {
        let answer = change(client, kind, object, *way, &to).await?;
        refused(&format!("{what}, {way:?}"), answer, rule)?;
    }
    Ok(())
}

/// RFC 7386.
fn merge_patch(from: &Value, to: &Value) -> Value {
    let (Some(old), Some(new)) = (from.as_object(), to.as_object()) else { return to.clone() };
    let mut patch = Map::new();
    for (key, value) in new {
        match old.get(key) {
            Some(before) if before == value => {}
            Some(before) => drop(patch.insert(key.clone(), merge_patch(before, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    Value::Object(patch)
}

/// Whole fields of an object, by part: those that are new or others, and those that are gone.
fn changed(from: &Value, to: &Value) -> Vec<(&'static str, String, Option<Value>)> {
    let fields = |object: &Value, part: &str| object[part].as_object().cloned().unwrap_or_default();
    let mut all = Vec::new();
    for part in ["metadata", "spec", "status", "data"] {
        let (old, new) = (fields(from, part), fields(to, part));
        let gone = old.keys().filter(|key| !new.contains_key(*key));
        all.extend(gone.map(|key| (part, key.clone(), None)));
        let others = new.into_iter().filter(|(key, value)| old.get(key) != Some(value));
        all.extend(others.map(|(key, value)| (part, key, Some(value))));
    }
    all
}

/// What an applier asks for that wants the object so. Of metadata only what changes: the rest has other owners.
fn applied(from: &Value, to: &Value) -> Value {
    let mut patch = json!({ "apiVersion": from["apiVersion"], "kind": from["kind"] });
    for (part, key, value) in changed(from, to) {
        match part {
            "metadata" => patch[part][key] = value.into(),
            _ => patch[part] = to[part].clone(),
        }
    }
    patch
}

/// RFC 6902.
fn json_patch(from: &Value, to: &Value) -> Value {
    let mut operations = Vec::new();
    if from["status"].is_null() && !to["status"].is_null() {
        operations.push(json!({ "op": "add", "path": "/status", "value": {} }));
    }
    for (part, key, value) in changed(from, to) {
        let path = format!("/{part}/{key}");
        operations.push(match value {
            Some(value) => json!({ "op": "add", "path": path, "value": value }),
            None => json!({ "op": "remove", "path": path }),
        });
    }
    Value::Array(operations)
}
