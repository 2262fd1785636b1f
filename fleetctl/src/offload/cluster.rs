//! The clusters of members.

use anyhow::{Context as _, Result};
use kube::Client;

use crate::access::Contexts;

/// The cluster of a member.
pub(super) async fn member(contexts: &Contexts, name: &str) -> Result<Client> {
    let context = contexts.of_member(name);
    let context =
        context.with_context(|| format!("no context for {name}: use --member {name}=CONTEXT"))?;
    Ok(contexts.connect(context).await?.write)
}
