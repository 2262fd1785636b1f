//! The numbers: as JSON, and as a page with plots.

mod figures;
mod limit;
mod page;
mod plot;
mod standard;

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

pub(crate) use figures::Report;

const NUMBERS: &str = "scale.json";

impl Report {
    /// What an earlier run has left in a folder; empty if none has.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(NUMBERS);
        match std::fs::read(&file) {
            Ok(json) => {
                let numbers = serde_json::from_slice(&json);
                Ok(Self::of(numbers.with_context(|| file.display().to_string())?))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| file.display().to_string()),
        }
    }

    /// Writes `scale.json`, `scale.md` and the plots.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(NUMBERS), serde_json::to_vec_pretty(self)?)?;
        let rates = self.standard.as_ref().and_then(|standard| standard.rates.as_ref());
        let of_rates = rates.map_or_else(|| Ok(Vec::new()), plot::rates)?;
        for (name, svg) in plot::growth(&self.growth)?.into_iter().chain(of_rates) {
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
