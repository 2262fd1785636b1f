//! Helm charts as packages, which are the same bytes for the same files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::layer::{File, Layer};

/// Media type of the metadata of a chart in a registry.
pub const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
/// Media type of a packaged chart in a registry.
pub const CONTENT: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// Prefix of the images that charts name unless they are part of a release.
pub const DEFAULT_REPOSITORY: &str = "localhost/fleet-networking";

/// File with the values of a chart.
const VALUES: &str = "values.yaml";

/// How deep the folders of a chart are: a link to a folder above itself has no end.
const DEPTH: usize = 10;

/// A packaged chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What is in its `Chart.yaml`.
    pub metadata: Value,
    /// The package, as `helm install` takes it.
    pub package: Vec<u8>,
}

impl Chart {
    /// Packs the chart in a folder, with the charts that it links to.
    ///
    /// # Errors
    /// If the folder has no chart, or a file of it cannot be read.
    pub fn pack(folder: &Path) -> Result<Self> {
        Self::pack_with(folder, |_, _, bytes| Ok(bytes))
    }

    /// Packs the chart in a folder as part of a release: its image is the one of the chart's name in `repository`. The tag stays
    /// the chart's `appVersion`, so that an upgrade which reuses values takes the image of its own release.
    ///
    /// # Errors
    /// If the folder has no such chart, it is of another version, or a file of it cannot be read.
    pub fn released(folder: &Path, repository: &str, version: &str) -> Result<Self> {
        let chart = Self::pack_with(folder, |name, path, bytes| match path {
            VALUES => with_image(&bytes, name, repository),
            _ => Ok(bytes),
        })?;
        for field in ["version", "appVersion"] {
            let found = &chart.metadata[field];
            ensure!(found == version, "{field} of the chart {} is not {version}", chart.name);
        }
        Ok(chart)
    }

    /// Packs a chart; `edit` gets its name, and path and content of each file.
    fn pack_with(
        folder: &Path,
        edit: impl Fn(&str, &str, Vec<u8>) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        let mut paths = Vec::new();
        walk(folder, "", 0, &mut paths)?;
        let ignored = ignored(folder)?;
        paths.retain(|path| !ignored.iter().any(|name| path.rsplit('/').next() == Some(name)));
        let read = |path: &str| {
            fs::read(folder.join(path)).with_context(|| format!("reading {path} of the chart"))
        };
        let metadata: Value = serde_saphyr::from_slice(&read("Chart.yaml")?)?;
        let text = |field: &str| {
            let text = metadata[field].as_str().map(str::to_owned);
            text.with_context(|| format!("Chart.yaml has no {field}"))
        };
        let (name, version) = (text("name")?, text("version")?);
        let files = paths.iter().map(|path| {
            let bytes = edit(&name, path, read(path)?)?;
            Ok(File { path: format!("{name}/{path}"), bytes, executable: false })
        });
        let package = Layer::pack(&files.collect::<Result<Vec<_>>>()?)?.bytes;
        Ok(Self { name, version, metadata, package })
    }

    /// Name of the package's file, as Helm names it.
    pub fn file_name(&self) -> String {
        format!("{}-{}.tgz", self.name, self.version)
    }
}

/// The values of a chart with the image in another repository. Everything else stays as it is written, comments too.
fn with_image(values: &[u8], name: &str, repository: &str) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(values)?;
    let wanted = format!("{repository}/{name}");
    let from = format!("\n  repository: {DEFAULT_REPOSITORY}/{name}\n");
    let text = text.replacen(&from, &format!("\n  repository: {wanted}\n"), 1);
    let parsed: Value = serde_saphyr::from_str(&text)?;
    ensure!(
        parsed["image"]["repository"] == wanted,
        "{VALUES} of {name} has no image in {DEFAULT_REPOSITORY}"
    );
    Ok(text.into_bytes())
}

/// The files below a folder, by their paths in the chart; links are followed.
fn walk(folder: &Path, within: &str, depth: usize, paths: &mut Vec<String>) -> Result<()> {
    ensure!(depth < DEPTH, "{} has folders in each other without an end", folder.display());
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("a name of a file is no UTF-8")?;
        let path = format!("{within}{name}");
        if fs::metadata(entry.path())?.is_dir() {
            walk(&entry.path(), &format!("{path}/"), depth + 1, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

/// Names of files that Helm leaves out. Patterns, which these charts have none of, are an error rather than another package.
fn ignored(folder: &Path) -> Result<Vec<String>> {
    let Ok(text) = fs::read_to_string(folder.join(".helmignore")) else { return Ok(Vec::new()) };
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let names = lines.map(|line| {
        if line.contains(['*', '?', '[', '!', '/', '\\']) {
            bail!(".helmignore has the pattern {line}; only names of files are known here");
        }
        Ok(line.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use flate2::read::GzDecoder;

    use super::*;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A chart that links to another one.
    fn folder(test: &str) -> Folder {
        let top = std::env::temp_dir().join(format!("fleet-chart-{test}-{}", std::process::id()));
        for (path, text) in [
            ("web/Chart.yaml", "name: web\nversion: 1.2.3\n"),
            ("web/README.md", "not for clusters"),
            ("web/.helmignore", "# what is for readers\nREADME.md\n"),
            ("web/templates/a.yaml", "a: 1"),
            ("common/Chart.yaml", "name: common\nversion: 1.2.3\n"),
        ] {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(top.join("web/charts")).unwrap();
        symlink("../../common", top.join("web/charts/common")).unwrap();
        Folder(top)
    }

    #[test]
    fn a_package_has_the_files_of_the_chart_and_of_those_it_links_to() {
        let folder = folder("files");
        let chart = Chart::pack(&folder.0.join("web")).unwrap();
        assert_eq!(chart.file_name(), "web-1.2.3.tgz");
        let mut tar = Vec::new();
        GzDecoder::new(&chart.package[..]).read_to_end(&mut tar).unwrap();
        let mut archive = tar::Archive::new(&tar[..]);
        let entries = archive.entries().unwrap().map(Result::unwrap);
        let files = entries.filter(|entry| entry.header().entry_type().is_file());
        let paths: Vec<_> = files.map(|it| it.path().unwrap().display().to_string()).collect();
        let expected =
            [".helmignore", "Chart.yaml", "charts/common/Chart.yaml", "templates/a.yaml"];
        assert_eq!(paths, expected.map(|path| format!("web/{path}")));
        assert_eq!(chart, Chart::pack(&folder.0.join("web")).unwrap(), "the same bytes again");
    }

    #[test]
    fn a_released_chart_names_the_released_image() {
        let folder = folder("released");
        let chart = folder.0.join("web");
        fs::write(chart.join("Chart.yaml"), "name: web\nversion: 1.2.3\nappVersion: 1.2.3\n")
            .unwrap();
        let values =
            "# -- Image\nimage:\n  repository: localhost/fleet-networking/web\n  tag: ''\n";
        fs::write(chart.join(VALUES), values).unwrap();
        let packed = Chart::released(&chart, "registry.example/fleet", "1.2.3").unwrap();
        let mut tar = Vec::new();
        GzDecoder::new(&packed.package[..]).read_to_end(&mut tar).unwrap();
        let mut archive = tar::Archive::new(&tar[..]);
        let mut entries = archive.entries().unwrap().map(Result::unwrap);
        let mut entry =
            entries.find(|it| it.path().unwrap().to_str() == Some("web/values.yaml")).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        assert_eq!(text, values.replace(DEFAULT_REPOSITORY, "registry.example/fleet"));
        let unchanged = Chart::released(&chart, DEFAULT_REPOSITORY, "1.2.3").unwrap();
        assert_eq!(unchanged, Chart::pack(&chart).unwrap());
        let error = Chart::released(&chart, "registry.example/fleet", "1.2.4").unwrap_err();
        assert!(error.to_string().contains("is not 1.2.4"), "{error}");
        fs::write(chart.join(VALUES), values.replace("fleet-networking", "other")).unwrap();
        let error = Chart::released(&chart, "registry.example/fleet", "1.2.3").unwrap_err();
        assert!(error.to_string().contains("has no image"), "{error}");
    }

    #[test]
    fn what_cannot_be_packed_is_an_error() {
        let folder = folder("errors");
        let chart = folder.0.join("web");
        symlink("..", chart.join("templates/round")).unwrap();
        let error = Chart::pack(&chart).unwrap_err().to_string();
        assert!(error.contains("without an end"), "{error}");
        fs::remove_file(chart.join("templates/round")).unwrap();
        fs::write(chart.join(".helmignore"), "*.md\n").unwrap();
        let error = Chart::pack(&chart).unwrap_err().to_string();
        assert!(error.contains("*.md"), "{error}");
        assert!(Chart::pack(&folder.0).is_err(), "there is no Chart.yaml");
    }
}
