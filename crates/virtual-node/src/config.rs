//! Config maps and Secrets that cross with a Pod, and follow their source.

use fleet_api::offload::{ConfigCopy, ConfigKind, PodExportSpec};

use crate::pod::{ConfigReference, Rejection, references};

/// What a Pod lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigProblem {
    /// It does not start without this, which does not exist. It is exported once that appears.
    Missing(ConfigReference),
    /// What it refers to is more than crosses.
    Rejected(Rejection),
}

/// The export with the present contents of what the Pod refers to. What is optional and does not exist is left out.
///
/// # Errors
/// If something is missing or too large.
pub fn fill(
    export: PodExportSpec,
    content: impl Fn(ConfigKind, &str) -> Option<ConfigCopy>,
) -> Result<PodExportSpec, ConfigProblem> {
    let mut contents = Vec::new();
    for (reference, optional) in references(&export.pod.0) {
        match content(reference.kind, &reference.name) {
            Some(copy) => contents.push(named(copy, &reference)),
            None if optional => {}
            None => return Err(ConfigProblem::Missing(reference)),
        }
    }
    crate::pod::with_contents(export, contents).map_err(ConfigProblem::Rejected)
}

/// Under the name that the Pod refers to it by: the executor looks for that.
fn named(copy: ConfigCopy, reference: &ConfigReference) -> ConfigCopy {
    ConfigCopy { kind: reference.kind, name: reference.name.clone(), ..copy }
}

#[cfg(test)]
mod tests;
