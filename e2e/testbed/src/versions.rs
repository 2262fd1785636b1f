//! Which release of Kubernetes each cluster of a testbed runs.

use anyhow::{Context, Result, ensure};

use super::binaries::Binaries;
use super::go_module::{Program, SUPPORTED};

/// The variable with the releases of the clusters, comma-separated: the first is that of the hub, the others those of its
/// members. With fewer than there are clusters they are taken in turn.
pub const VARIABLE: &str = "FLEET_KUBERNETES";

/// The programs of all clusters of a testbed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions(Vec<Binaries>);

impl Versions {
    /// The releases that the environment names, built first if need be; else the same programs for all clusters.
    ///
    /// Blocks; call it where that is allowed.
    ///
    /// # Errors
    /// If a release is not supported, or cannot be built.
    pub fn ensure() -> Result<Self> {
        let Ok(text) = std::env::var(VARIABLE) else { return Ok(Self(vec![Binaries::ensure()?])) };
        let chosen = parse(&text).with_context(|| format!("{VARIABLE}={text}"))?;
        chosen.into_iter().map(Binaries::built).collect::<Result<_>>().map(Self)
    }

    /// Those of one cluster, by its position: the hub is the first.
    pub(crate) fn of(&self, position: usize) -> &Binaries {
        &self.0[position % self.0.len()]
    }
}

/// The programs of each release, as `1.34,1.36`.
fn parse(text: &str) -> Result<Vec<&'static [Program; 3]>> {
    let names = supported()?;
    let chosen = text.split(',').map(|wanted| {
        let position = names.iter().position(|name| name == wanted.trim());
        let position = position.with_context(|| {
            format!("Kubernetes {wanted:?} is not supported: choose of {}", names.join(", "))
        })?;
        Ok(&SUPPORTED[position])
    });
    let chosen: Vec<_> = chosen.collect::<Result<_>>()?;
    ensure!(!chosen.is_empty(), "no release is named");
    Ok(chosen)
}

/// Major and minor of every supported release, the oldest first.
pub fn supported() -> Result<Vec<String>> {
    let minor = |programs: &[Program; 3]| {
        let version = programs[1].module.version()?.trim_start_matches('v');
        let (minor, _) = version.rsplit_once('.').context("a version has a patch")?;
        Ok(minor.to_owned())
    };
    SUPPORTED.iter().map(minor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_chosen_by_major_and_minor() {
        assert_eq!(supported().unwrap(), ["1.34", "1.35", "1.36"]);
        let chosen = parse("1.36, 1.34").unwrap();
        assert_eq!(chosen, [&SUPPORTED[2], &SUPPORTED[0]]);
        for wrong in ["", "1.33", "1.36.3", "1.36,", "1.36;1.34"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clusters_take_the_releases_in_turn() {
        let binaries = |name: &str| Binaries {
            etcd: name.into(),
            apiserver: name.into(),
            controller_manager: name.into(),
        };
        let versions = Versions(vec![binaries("a"), binaries("b")]);
        let order = [0, 1, 2, 3].map(|position| versions.of(position).clone());
        assert_eq!(order, [binaries("a"), binaries("b"), binaries("a"), binaries("b")]);
    }
}
