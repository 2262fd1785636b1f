//! Finds or builds the programs that are not ours: those of a control plane and of nodes, kubectl, Helm, the oracle for
//! EndpointSlices, and the receiver of traces.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::go_module::{self, PROGRAMS, Program};
use super::process::{find_in_path, spawn_bound};

/// How often a long build reports that it is still alive.
const STILL_BUILDING: Duration = Duration::from_secs(20);

/// Where the programs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// etcd.
    pub etcd: PathBuf,
    /// kube-apiserver.
    pub apiserver: PathBuf,
    /// kube-controller-manager.
    pub controller_manager: PathBuf,
}

impl Binaries {
    /// Ready programs where `KUBEBUILDER_ASSETS` or PATH offers all three; else those of the cache, built first if
    /// need be (minutes, once per pinned version). Progress goes to stderr.
    ///
    /// Blocks; call it where that is allowed.
    pub fn ensure() -> Result<Self> {
        if let Some(ready) = Self::ready() {
            return Ok(ready);
        }
        Self::built(&PROGRAMS)
    }

    /// Those of one of [`go_module::SUPPORTED`], built first if need be, whatever `KUBEBUILDER_ASSETS` and PATH offer.
    ///
    /// Blocks; call it where that is allowed.
    pub fn built(programs: &'static [Program; 3]) -> Result<Self> {
        let folder = cache_root()?.join(go_module::cache_folder_name(programs)?);
        if let Some(built) = Self::complete(|name| existing(&folder.join(name))) {
            return Ok(built);
        }
        build_missing(&folder, programs.iter())?;
        Self::complete(|name| existing(&folder.join(name))).with_context(|| {
            format!("a program is missing in {} after the build", folder.display())
        })
    }

    /// Where something is kept that an API server of this version makes anew in each cluster; `None` for programs that may become
    /// others without another path.
    pub fn kept(&self, name: &str) -> Option<PathBuf> {
        let folder = self.apiserver.parent()?;
        folder.starts_with(cache_root().ok()?).then(|| folder.join(name))
    }

    fn ready() -> Option<Self> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        assets
            .and_then(|folder| Self::complete(|name| existing(&folder.join(name))))
            .or_else(|| Self::complete(find_in_path))
    }

    /// All three or none: versions of different origins are not mixed.
    fn complete(find: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        Some(Self {
            etcd: find("etcd")?,
            apiserver: find("kube-apiserver")?,
            controller_manager: find("kube-controller-manager")?,
        })
    }
}

/// A program beside those of a control plane ([`go_module::SLICE_ORACLE`], [`go_module::HELMS`],
/// [`go_module::KUBECTL`], [`go_module::KUBECTL_OLDEST`], [`go_module::OTLP_RECEIVER`], [`go_module::KUBELET`] and the
/// others of nodes), built first if need be: a minute or two, once per content.
///
/// Blocks; call it where that is allowed.
pub fn own(program: &'static Program) -> Result<PathBuf> {
    let folder = cache_root()?.join(go_module::own_folder_name(program)?);
    let path = folder.join(program.name);
    if !path.is_file() {
        build_missing(&folder, std::iter::once(program))?;
    }
    Ok(path)
}

fn existing(path: &Path) -> Option<PathBuf> {
    path.is_file().then(|| path.to_owned())
}

/// `$XDG_CACHE_HOME/fleet-e2e`, else `~/.cache/fleet-e2e`.
pub fn cache_root() -> Result<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .context(
            "neither XDG_CACHE_HOME nor HOME names a folder for the control plane's programs",
        )?;
    Ok(cache.join("fleet-e2e"))
}

/// Makes a folder of the cache and waits until no other process builds in it; none does while the file is open.
pub fn lock_folder(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(".lock"))
        .context("open the build lock")?;
    if lock.try_lock().is_err() {
        eprintln!("Another process builds what is missing; waiting for it");
        lock.lock().context("wait for the build lock")?;
    }
    Ok(lock)
}

/// Builds what is missing in `folder`. One process at a time does so; others wait for it.
fn build_missing(folder: &Path, programs: impl Iterator<Item = &'static Program>) -> Result<()> {
    let _lock = lock_folder(folder)?;
    let missing: Vec<&Program> =
        programs.filter(|program| !folder.join(program.name).is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let go = find_in_path("go").with_context(|| missing_go(&missing))?;
    eprintln!("Building from Go modules into {}: some minutes, only this once", folder.display());
    for (position, program) in missing.iter().enumerate() {
        let step = format!(
            "[{}/{}] {} {}",
            position + 1,
            missing.len(),
            program.name,
            program.module.version()?
        );
        build(&go, program, folder, &step)?;
    }
    Ok(())
}

fn missing_go(programs: &[&Program]) -> String {
    let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
    let advice = if programs.iter().all(|program| PROGRAMS.contains(program)) {
        " (or point KUBEBUILDER_ASSETS at a folder that has all of a control plane)"
    } else {
        ""
    };
    format!(
        "Go {} or newer is not on PATH; it is needed once, to build {}{advice}",
        go_module::go_version(),
        names.join(", ")
    )
}

/// Builds one program under a temporary name and renames it, so that a killed build leaves nothing half-made behind
/// under the final name.
fn build(go: &Path, program: &Program, folder: &Path, step: &str) -> Result<()> {
    let begin = Instant::now();
    eprintln!("{step}: building");
    let module = folder.join(format!(".module-{}", program.module.name));
    fs::create_dir_all(&module)?;
    fs::write(module.join("go.mod"), program.module.go_mod)?;
    fs::write(module.join("go.sum"), program.module.go_sum)?;
    for (name, text) in program.module.sources {
        fs::write(module.join(name), text)?;
    }
    let partial = folder.join(format!(".{}.partial", program.name));
    let log_path = folder.join(format!(".{}.log", program.name));
    let log = fs::File::create(&log_path)?;
    let errors = log.try_clone()?;
    let arguments: Vec<_> =
        program.build_arguments(&partial.to_string_lossy())?.into_iter().map(Into::into).collect();
    let mut child = spawn_bound(go, &arguments, |command| {
        // The module stands alone: neither a workspace around the cache nor flags of the user may change it.
        command.current_dir(&module).env("GOWORK", "off");
        command.env_remove("GOFLAGS").stdout(log).stderr(errors);
        // These are for the programs that tests run: a build uses all processors, and collects garbage as Go does.
        for of_tests in ["GOMAXPROCS", "GOGC", "GOMEMLIMIT"] {
            command.env_remove(of_tests);
        }
    })?;
    let mut said = begin;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if said.elapsed() >= STILL_BUILDING {
            said = Instant::now();
            eprintln!("{step}: still building after {} s", begin.elapsed().as_secs());
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        let log = fs::read_to_string(&log_path).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(20)..].join("\n");
        bail!("building {} failed ({status}):\n{tail}", program.name);
    }
    fs::rename(&partial, folder.join(program.name))?;
    let _ = fs::remove_file(&log_path);
    eprintln!("{step}: done in {} s", begin.elapsed().as_secs());
    Ok(())
}

/// First line of `program --version`, for reports.
pub fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_different_origins_are_not_mixed() {
        let all = Binaries::complete(|name| Some(PathBuf::from("/x").join(name))).unwrap();
        assert_eq!(all.etcd, PathBuf::from("/x/etcd"));
        assert_eq!(
            Binaries::complete(|name| (name != "kube-controller-manager").then(PathBuf::new)),
            None
        );
    }

    #[test]
    fn a_missing_go_is_one_sentence() {
        let control_plane = missing_go(&PROGRAMS.iter().collect::<Vec<_>>());
        assert!(!control_plane.contains('\n') && control_plane.contains("KUBEBUILDER_ASSETS"));
        assert!(missing_go(&[&go_module::SLICE_ORACLE]).ends_with("to build endpointslice-oracle"));
    }
}
