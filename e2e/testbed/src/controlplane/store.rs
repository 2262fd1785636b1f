//! Copies of a control plane's store.

use std::path::{Path, PathBuf};

use anyhow::Result;

/// The store as it was at one time.
#[derive(Debug)]
pub struct SavedStore(PathBuf);

impl SavedStore {
    /// Copies the store in `data`, which no server uses.
    pub(super) fn of(data: &Path) -> Result<Self> {
        let saved = data.with_extension("saved");
        copy(data, &saved)?;
        Ok(Self(saved))
    }

    /// Puts the copy into the place of the store, which no server uses.
    pub(super) fn restore(&self, data: &Path) -> Result<()> {
        std::fs::remove_dir_all(data)?;
        copy(&self.0, data)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
