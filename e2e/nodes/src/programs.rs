//! The programs of nodes, and the images of their Pods.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fleet_testbed::binaries::{cache_root, lock_folder, own};
use fleet_testbed::go_module::{self, COREDNS};
use fleet_testbed::process::find_in_path;

use crate::requirements::plugin_folder;

/// Image of [`go_module::POD_SERVER`].
pub const SERVER_IMAGE: &str = "localhost/fleet-e2e/server:1";
/// Image with a shell, wget, nslookup and nc, and no program of its own.
pub const SHELL_IMAGE: &str = "localhost/fleet-e2e/shell:1";
/// Image of the containers that hold the Pods' networks.
pub const PAUSE_IMAGE: &str = "registry.k8s.io/pause:3.10";

const BUILD_IMAGES: &str = include_str!("../images/build.sh");
/// Programs of Debian that are in the images.
const IN_IMAGES: [&str; 5] = ["busybox", "dash", "wget", "socat", "nc.openbsd"];

/// Where everything is that a node runs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// kubelet.
    pub kubelet: PathBuf,
    /// kube-proxy.
    pub proxy: PathBuf,
    /// kube-scheduler.
    pub scheduler: PathBuf,
    /// kubectl, which runs commands in Pods as users do.
    pub kubectl: PathBuf,
    /// containerd.
    pub containerd: PathBuf,
    /// The tar with all images.
    pub images: PathBuf,
    /// The folder with the plugins that connect Pods.
    pub plugins: PathBuf,
}

impl Programs {
    /// Finds or builds them: minutes, once per pinned version.
    ///
    /// Blocks; call it where that is allowed.
    pub fn ensure() -> Result<Self> {
        Ok(Self {
            kubelet: own(&go_module::KUBELET)?,
            proxy: own(&go_module::KUBE_PROXY)?,
            scheduler: own(&go_module::KUBE_SCHEDULER)?,
            kubectl: own(&go_module::KUBECTL)?,
            containerd: find_in_path("containerd").context("containerd is not on PATH")?,
            images: images()?,
            plugins: plugin_folder().context("the plugins that connect Pods are not there")?,
        })
    }
}

/// Image of CoreDNS, named as that of its authors.
pub fn dns_image() -> Result<String> {
    Ok(format!("registry.k8s.io/coredns/coredns:{}", COREDNS.module.version()?))
}

/// The tar with all images, made first if need be: seconds, once per version of the programs in them.
fn images() -> Result<PathBuf> {
    let (server, coredns) = (own(&go_module::POD_SERVER)?, own(&COREDNS)?);
    let folder = cache_root()?.join(format!("node-images-{:016x}", digest(&[&server, &coredns])?));
    let path = folder.join("images.tar");
    let _lock = lock_folder(&folder)?;
    if !path.is_file() {
        let script = folder.join("build.sh");
        fs::write(&script, BUILD_IMAGES)?;
        let made = Command::new("bash")
            .args([&script, &path, &server, &coredns])
            .arg(COREDNS.module.version()?)
            .output()
            .context("start bash")?;
        let errors = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "images are not made ({}): {errors}", made.status);
    }
    Ok(path)
}

/// Changes when a program in the images does: ours are in folders of their content, and those of packages have a size and
/// a time.
fn digest(ours: &[&Path]) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    (BUILD_IMAGES, ours).hash(&mut hasher);
    for name in IN_IMAGES {
        let path = find_in_path(name).with_context(|| format!("{name} is not on PATH"))?;
        let metadata = fs::metadata(path)?;
        (metadata.len(), metadata.modified()?).hash(&mut hasher);
    }
    Ok(hasher.finish())
}
