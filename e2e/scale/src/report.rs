//! The numbers: as JSON, and as a page with plots.

mod limit;
mod page;
mod plot;

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::cold_start::ColdStart;
use crate::growth::Point;
use crate::large_fleet::LargeFleet;
use crate::load::Step;
use crate::solo::Solo;
use crate::wire::Wire;

/// Everything that was measured.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) solo: Option<Solo>,
    /// Resident bytes of a hub agent in an empty fleet.
    pub(crate) empty_rss: u64,
    pub(crate) growth: Vec<Point>,
    pub(crate) wire: Option<Wire>,
    pub(crate) load: Vec<Step>,
    pub(crate) cold_starts: Vec<ColdStart>,
    #[serde(rename = "beyond")]
    pub(crate) large_fleet: Option<LargeFleet>,
}

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
