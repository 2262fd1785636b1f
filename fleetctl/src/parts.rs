//! What a member needs on the hub for the parts of a fleet that a hub may be without: `join` grants it, `leave` takes it. A member can do
//! without.

mod table;

use anyhow::Result;
use kube::Client;
use serde_json::Value;

use crate::manifests::{delete_reported, make, of_chart};
use crate::member_objects::documents;
use crate::objects::{find, is_served};
use crate::output::report;
use crate::quotas;
use table::{Named, Offer, PARTS, Part};

/// Grants a member its rights in all parts that the hub has.
pub(crate) async fn grant(hub: &Client, member: &str, dry_run: bool) {
    for part in &PARTS {
        if let Err(error) = try_grant(part, hub, member, dry_run).await {
            report(&format!("{member} cannot {}: {error:#}", part.purpose));
        }
    }
}

async fn try_grant(part: &Part, hub: &Client, member: &str, dry_run: bool) -> Result<()> {
    if !is_offered(part, hub).await? {
        return Ok(());
    }
    let Named { kind, namespace, name } = part.right.of(member);
    if of_chart(hub, kind, namespace.as_deref(), &name).await?.is_some() {
        report(&format!("Unchanged: the hub's chart {}", part.by_chart(member)));
        return Ok(());
    }
    for object in documents(part.rights, member)? {
        make(hub, &object, dry_run).await?;
    }
    if let Some((quota, counted)) = part.quota {
        quotas::limit(hub, member, quota, counted, dry_run).await;
    }
    Ok(())
}

async fn is_offered(part: &Part, hub: &Client) -> Result<bool> {
    match part.offer {
        Offer::Kind(kind) => is_served(hub, kind).await,
        Offer::Right(kind, namespace, name) => {
            Ok(find(hub, kind, namespace, name).await?.is_some())
        }
    }
}

/// What [`revoke`] would delete.
///
/// # Errors
/// If the hub does not answer.
pub(crate) async fn granted(hub: &Client, member: &str) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for part in &PARTS {
        all.extend(granted_of(part, hub, member).await?);
    }
    Ok(all)
}

async fn granted_of(part: &Part, hub: &Client, member: &str) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    let has_right = is_there(hub, &part.right.of(member)).await?;
    if has_right {
        all.extend(documents(part.rights, member)?.into_iter().rev());
        if let Some((quota, _)) = part.quota {
            all.extend(documents(quota, member)?);
        }
    }
    if let Some(left) = &part.left {
        let object = left.object.of(member);
        let goes = if left.by_administrators {
            is_offered(part, hub).await? && is_there(hub, &object).await?
        } else {
            has_right
        };
        all.extend(goes.then(|| object.manifest()));
    }
    Ok(all)
}

async fn is_there(hub: &Client, object: &Named) -> Result<bool> {
    Ok(find(hub, object.kind, object.namespace.as_deref(), &object.name).await?.is_some())
}

/// Takes the rights of a member that has left, and what it has made by them: another cluster may have its name from now on. What
/// cannot be deleted is reported.
///
/// # Errors
/// If the hub does not answer.
pub(crate) async fn revoke(hub: &Client, member: &str) -> Result<()> {
    for part in &PARTS {
        delete_reported(hub, &granted_of(part, hub, member).await?).await;
    }
    Ok(())
}
