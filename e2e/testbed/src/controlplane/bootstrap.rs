//! What every API server writes into an empty store when it starts: its roles, its own APIs, and how it is shared by its users.
//! That is a quarter of the work of a start. So the first start of a version leaves it beside the programs, and each later one
//! finds it in its store, as an API server does that was only restarted.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

use super::super::binaries::Binaries;
use super::etcd::{Entry, Etcd};

/// Its name.
const FILE: &str = "bootstrap.json";
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
/// How often this program has saved something.
static SAVED: AtomicUsize = AtomicUsize::new(0);

/// Puts what is kept for these programs into an empty store; false if nothing is, or nothing readable.
pub(super) async fn restore(binaries: &Binaries, etcd: &Etcd) -> Result<bool> {
    let Some(Ok(text)) = binaries.kept(FILE).map(std::fs::read) else { return Ok(false) };
    let Ok(entries) = serde_json::from_slice::<Vec<Entry>>(&text) else { return Ok(false) };
    for part in entries.chunks(AT_ONCE) {
        etcd.put(part).await?;
    }
    Ok(true)
}

/// Keeps that of a store beside the programs. The API server is ready, and nothing else has written yet.
pub(super) async fn save(binaries: &Binaries, etcd: &Etcd) -> Result<()> {
    let Some(file) = binaries.kept(FILE) else { return Ok(()) };
    let mut entries = Vec::new();
    for prefix in PREFIXES {
        entries.extend(etcd.below(prefix).await?);
    }
    // Several programs of tests may do so at the same time, and several tests of one.
    let number = SAVED.fetch_add(1, Ordering::Relaxed);
    let partial = file.with_extension(format!("{}-{number}.partial", std::process::id()));
    std::fs::write(&partial, serde_json::to_vec(&entries)?)?;
    std::fs::rename(&partial, &file).with_context(|| format!("write {}", file.display()))
}
