//! Where the pages are played: clusters called as in the pages, where Pods of the agents run, and a user's programs.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fleet_testbed::agents::find_program;
use fleet_testbed::binaries::{self, Binaries};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::go_module::Program;
use fleet_testbed::helm::{Helm, chart};
use fleet_testbed::kubelet::Kubelet;
use fleet_testbed::{Bare, Options};
use futures::future::join_all;
use kube::config::Kubeconfig;

use crate::shell::Shell;

/// The address of the hub in the pages.
const HUB_URL: &str = "https://hub.example:6443";
/// What `make build` makes.
const PROGRAMS: [&str; 4] = ["hub-agent", "member-agent", "fleetctl", "fleet-testbed"];

pub(crate) struct Stage {
    bare: Bare,
    /// With what is in a user's PATH.
    programs: PathBuf,
    kubeconfig: PathBuf,
}

impl Stage {
    /// A stage where `kubectl` is the given program.
    pub(crate) async fn start(kubectl: &'static Program) -> Result<Self> {
        let helm = Helm::v4().await?;
        let kubectl = tokio::task::spawn_blocking(|| binaries::own(kubectl)).await??;
        let options = Options::default().without_audit().with_deployments();
        let bare = Bare::start(&["hub", "east", "west"], &options).await?;
        let programs = bare.run().folder("programs")?;
        symlink(helm.program(), programs.join("helm"))?;
        symlink(kubectl, programs.join("kubectl"))?;
        symlink(find_program("fleetctl")?, programs.join("fleetctl"))?;
        let kubeconfig = programs.join("kubeconfig");
        std::fs::write(&kubeconfig, serde_saphyr::to_string(&contexts(&bare)?)?)?;
        Ok(Self { bare, programs, kubeconfig })
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.bare.run().keep_logs()
    }

    /// Lets Pods run for as long as this is polled.
    pub(crate) async fn nodes(&self) {
        let kubelet = |cluster| Kubelet::new(cluster, self.bare.run()).run();
        join_all(self.bare.clusters().iter().map(kubelet)).await;
    }

    /// A folder with what a reader of the page has: a built checkout, and the certificates of the hub.
    pub(crate) fn shell(&self, page: &str) -> Result<Shell> {
        let folder = self.bare.run().folder(&page.replace('/', "-"))?;
        symlink(charts()?, folder.join("charts"))?;
        let built = folder.join("target/release");
        std::fs::create_dir_all(&built)?;
        for name in PROGRAMS {
            symlink(find_program(name)?, built.join(name))?;
        }
        let binaries = Binaries::ensure()?.etcd.parent().map(Path::to_owned);
        let authority = self.hub().ca_pem().context("the hub has an authority of its own")?;
        std::fs::write(folder.join("hub-ca.pem"), authority)?;
        let mut environment = vec![
            ("HOME", folder.clone()),
            ("KUBECONFIG", self.kubeconfig.clone()),
            // A testbed that a page starts is found by no other process, and builds nothing.
            ("FLEET_TESTBED_DIR", folder.join("testbeds")),
        ];
        environment.extend(binaries.map(|folder| ("KUBEBUILDER_ASSETS", folder)));
        Shell::new(folder, &self.programs, environment)
    }

    /// A page with the address of this hub in it.
    pub(crate) fn with_addresses(&self, page: &str) -> String {
        page.replace(HUB_URL, &self.hub().server_url())
    }

    fn hub(&self) -> &Cluster {
        &self.bare.clusters()[0]
    }
}

fn charts() -> Result<PathBuf> {
    Ok(std::fs::canonicalize(chart("hub-agent").join(".."))?)
}

/// One kubeconfig with a context for each cluster, named like it.
fn contexts(bare: &Bare) -> Result<Kubeconfig> {
    let mut all = Kubeconfig::default();
    for cluster in bare.clusters() {
        all = all.merge(Kubeconfig::read_from(cluster.kubeconfig_path())?)?;
    }
    Ok(all)
}
