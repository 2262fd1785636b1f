//! The numbers: as JSON, and as a page with plots.

mod figures;
mod limit;
mod page;
mod plot;
mod standard;

use std::path::Path;

use anyhow::{Context, Result};

pub(crate) use figures::Report;

impl Report {
    /// Writes `scale.json`, `scale.md` and the plots.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("scale.json"), serde_json::to_vec_pretty(self)?)?;
        for (name, svg) in plot::growth(&self.growth)? {
            std::fs::write(folder.join(name), svg)?;
        }
        let page = self.page();
        std::fs::write(folder.join("scale.md"), page).context("write the page")
    }

    /// The page as Markdown.
    pub(crate) fn page(&self) -> String {
        page::page(self)
    }
}
