//! One member whose cluster could be read, for the checks of members.

use super::finding::{Read, known};
use super::mend::{MEMBER_CHART, helm};
use super::seen::{Cluster, Hub, Import, Report, Seen};

/// The member, and the fleet that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The fleet.
    pub seen: &'a Seen,
    /// Name of the member.
    pub name: &'a str,
    /// Its own cluster.
    pub own: &'a Cluster,
}

impl<'a> Subject<'a> {
    /// The hub.
    ///
    /// # Errors
    /// The reason why it could not be read.
    pub fn hub(&self) -> Read<&'a Hub> {
        known(&self.seen.hub)
    }

    /// The member's report on the hub.
    ///
    /// # Errors
    /// The reason why reports could not be read.
    pub fn report(&self) -> Read<Option<&'a Report>> {
        let reports = known(&self.hub()?.reports)?;
        Ok(reports.iter().find(|report| report.member == self.name))
    }

    /// The ServiceImports that the member agent made.
    ///
    /// # Errors
    /// The reason why ServiceImports could not be read.
    pub fn marked(&self) -> Read<Vec<(&'a Import, &'a str)>> {
        let imports = known(&self.own.imports)?.iter();
        Ok(imports.filter_map(|import| Some((import, import.mark.as_deref()?))).collect())
    }

    /// The argument of `--member` that leads to this cluster.
    pub fn argument(&self) -> String {
        let (name, context) = (self.name, &self.own.context);
        let argument = if context == name { name.to_owned() } else { format!("{name}={context}") };
        crate::shell::quoted(&argument).into_owned()
    }

    /// The command that gives the chart of the member agent these values.
    ///
    /// # Errors
    /// What to do instead, where it would take a newer release back.
    pub fn helm(&self, values: &[&str]) -> Result<String, String> {
        helm(MEMBER_CHART, &self.own.context, &self.own.base, values)
    }

    /// How to call kubectl for the member's cluster.
    pub fn kubectl(&self) -> String {
        crate::shell::kubectl(&self.own.context)
    }
}
