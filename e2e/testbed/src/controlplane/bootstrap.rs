//! What every API server writes into an empty store when it starts: its roles, its own APIs, and how it is shared by its users.
//! That is a quarter of the work of a start. So the first start of a version leaves it beside the programs, and each later one
//! finds it in its store, as an API server does that was only restarted.

use std::path::Path;

use anyhow::{Context, Result};

use super::etcd::{Entry, Etcd};

/// Prefixes below `/registry/` of what is the same in every cluster. Nothing that names one cluster is among them: no namespace,
/// whose uid identifies it, no address and no certificate.
const PREFIXES: [&str; 8] = [
    "apiregistration.k8s.io/apiservices/",
    "clusterrolebindings/",
    "clusterroles/",
    "flowschemas/",
    "prioritylevelconfigurations/",
    "priorityclasses/",
    "rolebindings/",
    "roles/",
];
/// Entries of one request; etcd accepts 128.
const AT_ONCE: usize = 100;

/// Puts what `file` has into an empty store; false if there is no such file yet.
pub(super) async fn restore(file: &Path, etcd: &Etcd) -> Result<bool> {
    let Ok(text) = std::fs::read(file) else { return Ok(false) };
    let entries: Vec<Entry> =
        serde_json::from_slice(&text).with_context(|| format!("read {}", file.display()))?;
    for part in entries.chunks(AT_ONCE) {
        etcd.put(part).await?;
    }
    Ok(true)
}

/// Writes that of a store into `file`. The API server is ready, and nothing else has written yet.
pub(super) async fn save(etcd: &Etcd, file: &Path) -> Result<()> {
    let mut entries = Vec::new();
    for prefix in PREFIXES {
        entries.extend(etcd.below(prefix).await?);
    }
    // Several programs of tests may do so at the same time.
    let partial = file.with_extension(format!("{}.partial", std::process::id()));
    std::fs::write(&partial, serde_json::to_vec(&entries)?)?;
    std::fs::rename(&partial, file).with_context(|| format!("write {}", file.display()))
}
