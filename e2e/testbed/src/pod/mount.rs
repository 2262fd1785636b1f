//! A Secret that is mounted into a container, as a kubelet writes it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{self, PodSpec, Secret};
use kube::Api;

use crate::cluster::Cluster;
use crate::kubeconfig::write_secret;

/// The link through which all files of a volume are read: they change together when it does.
const CURRENT: &str = "..data";

#[derive(Clone, Debug)]
pub(super) struct Mount {
    /// Path in the container.
    path: String,
    /// Folder on this machine.
    folder: PathBuf,
    secret: String,
    /// Keys of the Secret, and their files.
    items: Vec<(String, String)>,
}

impl Mount {
    /// The mounted Secrets of a container, as folders of this folder. What else is mounted is the token of the service
    /// account, which has another way in.
    pub(super) fn all(
        spec: &PodSpec,
        container: &v1::Container,
        folder: &Path,
    ) -> Result<Vec<Self>> {
        let mut mounts = Vec::new();
        for mounted in container.volume_mounts.iter().flatten() {
            let mut volumes = spec.volumes.iter().flatten();
            let volume = volumes.find(|volume| volume.name == mounted.name).context("a volume")?;
            let Some(source) = &volume.secret else { continue };
            let items = source.items.iter().flatten();
            mounts.push(Self {
                path: mounted.mount_path.clone(),
                folder: folder.join(&volume.name),
                secret: source.secret_name.clone().context("a Secret's name")?,
                items: items.map(|item| (item.key.clone(), item.path.clone())).collect(),
            });
        }
        Ok(mounts)
    }

    /// A path in the container, on this machine.
    pub(super) fn path_here(&self, path: &str) -> String {
        path.replace(&self.path, &self.folder.to_string_lossy())
    }

    /// Writes the Secret as it is now: into a new folder, to which a link then points in the place of the last one.
    pub(super) async fn update(&self, cluster: &Cluster, namespace: &str) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(cluster.client(), namespace);
        let secret = secrets.get(&self.secret).await?;
        let version = secret.metadata.resource_version.context("a version")?;
        let data = secret.data.unwrap_or_default();
        let fresh = format!("..{version}");
        if fs::read_link(self.folder.join(CURRENT))
            .is_ok_and(|current| current == Path::new(&fresh))
        {
            return Ok(());
        }
        fs::create_dir_all(self.folder.join(&fresh))?;
        for (key, path) in &self.items {
            let content = data.get(key).with_context(|| format!("{} has {key}", self.secret))?;
            let file = self.folder.join(&fresh).join(path);
            write_secret(&file, std::str::from_utf8(&content.0)?)?;
            let link = self.folder.join(path);
            if fs::symlink_metadata(&link).is_err() {
                symlink(Path::new(CURRENT).join(path), link)?;
            }
        }
        self.point_to(&fresh)
    }

    fn point_to(&self, fresh: &str) -> Result<()> {
        let current = self.folder.join(CURRENT);
        let old = fs::read_link(&current).ok().filter(|old| old != Path::new(fresh));
        let next = self.folder.join("..data_tmp");
        symlink(fresh, &next)?;
        fs::rename(&next, &current)?;
        old.map_or(Ok(()), |old| fs::remove_dir_all(self.folder.join(old)))?;
        Ok(())
    }
}
