//! The pinned Go modules that programs are built from. Versions are read from their `go.mod`, never repeated.

use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Context, Result};

/// A program to build: which module pins it, and which package it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// File name of the result.
    pub name: &'static str,
    /// Import path of the package.
    pub package: &'static str,
    /// The module that pins it.
    pub module: &'static Module,
}

/// A Go module of ours that pins the programs' sources.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    /// Short name, also the name of its folder while building.
    pub name: &'static str,
    /// Its `go.mod`.
    pub go_mod: &'static str,
    /// Its `go.sum`.
    pub go_sum: &'static str,
    /// Names and texts of its own source files.
    pub sources: &'static [(&'static str, &'static str)],
    /// The required module whose version is the programs' version.
    requirement: &'static str,
    /// Build tags, comma-separated.
    tags: &'static str,
}

/// Names and users are looked up without the C library, so that a program that needs nothing else of it is static and
/// runs in any image.
const STATIC: &str = "netgo,osusergo";

static ETCD: Module = Module {
    name: "etcd",
    go_mod: include_str!("../../controlplane/etcd/go.mod"),
    go_sum: include_str!("../../controlplane/etcd/go.sum"),
    sources: &[],
    requirement: "go.etcd.io/etcd/server/v3",
    tags: "",
};

static KUBERNETES: Module = Module {
    name: "kubernetes",
    go_mod: include_str!("../../controlplane/kubernetes/go.mod"),
    go_sum: include_str!("../../controlplane/kubernetes/go.sum"),
    sources: &[],
    requirement: "k8s.io/kubernetes",
    tags: "",
};

static KUBERNETES_1_35: Module = Module {
    name: "kubernetes-1.35",
    go_mod: include_str!("../../controlplane/kubernetes-1.35/go.mod"),
    go_sum: include_str!("../../controlplane/kubernetes-1.35/go.sum"),
    sources: &[],
    requirement: "k8s.io/kubernetes",
    tags: "",
};

static KUBERNETES_1_34: Module = Module {
    name: "kubernetes-1.34",
    go_mod: include_str!("../../controlplane/kubernetes-1.34/go.mod"),
    go_sum: include_str!("../../controlplane/kubernetes-1.34/go.sum"),
    sources: &[],
    requirement: "k8s.io/kubernetes",
    tags: "",
};

static NODES: Module = Module {
    name: "nodes",
    go_mod: include_str!("../../controlplane/nodes/go.mod"),
    go_sum: include_str!("../../controlplane/nodes/go.sum"),
    sources: &[],
    requirement: "k8s.io/kubernetes",
    tags: "",
};

static COREDNS_MODULE: Module = Module {
    name: "coredns",
    go_mod: include_str!("../../controlplane/coredns/go.mod"),
    go_sum: include_str!("../../controlplane/coredns/go.sum"),
    sources: &[("main.go", include_str!("../../controlplane/coredns/main.go"))],
    requirement: "github.com/coredns/coredns",
    tags: STATIC,
};

/// It needs the standard library alone, so its version is Go's.
static POD_SERVER_MODULE: Module = Module {
    name: "pod-server",
    go_mod: include_str!("../../nodes/images/server/go.mod"),
    go_sum: "",
    sources: &[("main.go", include_str!("../../nodes/images/server/main.go"))],
    requirement: "go",
    tags: STATIC,
};

static KUBECTL_OLDEST_MODULE: Module = Module {
    name: "kubectl-oldest",
    go_mod: include_str!("../../controlplane/kubectl-oldest/go.mod"),
    go_sum: include_str!("../../controlplane/kubectl-oldest/go.sum"),
    sources: &[("main.go", include_str!("../../controlplane/kubectl-oldest/main.go"))],
    requirement: "k8s.io/kubectl",
    tags: "",
};

static ENDPOINTSLICE_ORACLE: Module = Module {
    name: "endpointslice-oracle",
    go_mod: include_str!("../../endpointslices/oracle/go.mod"),
    go_sum: include_str!("../../endpointslices/oracle/go.sum"),
    sources: &[
        ("canonical.go", include_str!("../../endpointslices/oracle/canonical.go")),
        ("extras.go", include_str!("../../endpointslices/oracle/extras.go")),
        ("gen.go", include_str!("../../endpointslices/oracle/gen.go")),
        ("main.go", include_str!("../../endpointslices/oracle/main.go")),
        ("metrics.go", include_str!("../../endpointslices/oracle/metrics.go")),
        ("reconcile.go", include_str!("../../endpointslices/oracle/reconcile.go")),
        ("store.go", include_str!("../../endpointslices/oracle/store.go")),
    ],
    requirement: "k8s.io/endpointslice",
    tags: "",
};

static OTLP_RECEIVER_MODULE: Module = Module {
    name: "otlp-receiver",
    go_mod: include_str!("../../otlp-receiver/go.mod"),
    go_sum: include_str!("../../otlp-receiver/go.sum"),
    sources: &[("main.go", include_str!("../../otlp-receiver/main.go"))],
    requirement: "go.opentelemetry.io/collector/receiver/otlpreceiver",
    tags: "",
};

static HELM3: Module = Module {
    name: "helm3",
    go_mod: include_str!("../../controlplane/helm3/go.mod"),
    go_sum: include_str!("../../controlplane/helm3/go.sum"),
    sources: &[],
    requirement: "helm.sh/helm/v3",
    tags: "",
};

static HELM4: Module = Module {
    name: "helm4",
    go_mod: include_str!("../../controlplane/helm4/go.mod"),
    go_sum: include_str!("../../controlplane/helm4/go.sum"),
    sources: &[],
    requirement: "helm.sh/helm/v4",
    tags: "",
};

static COSIGN_MODULE: Module = Module {
    name: "cosign",
    go_mod: include_str!("../../controlplane/cosign/go.mod"),
    go_sum: include_str!("../../controlplane/cosign/go.sum"),
    sources: &[],
    requirement: "github.com/sigstore/cosign/v3",
    tags: "",
};

/// What users verify releases with.
pub static COSIGN: Program = Program {
    name: "cosign",
    package: "github.com/sigstore/cosign/v3/cmd/cosign",
    module: &COSIGN_MODULE,
};

/// A registry in memory, for releases.
pub static REGISTRY: Program = Program {
    name: "registry",
    package: "github.com/google/go-containerregistry/cmd/registry",
    module: &COSIGN_MODULE,
};

/// Helm in both major versions that the charts are for.
pub static HELMS: [Program; 2] = [
    Program { name: "helm3", package: "helm.sh/helm/v3/cmd/helm", module: &HELM3 },
    Program { name: "helm4", package: "helm.sh/helm/v4/cmd/helm", module: &HELM4 },
];

/// What users talk to clusters with; of the same module as the control planes.
pub static KUBECTL: Program =
    Program { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl", module: &KUBERNETES };

/// Starts the Pods of a node.
pub static KUBELET: Program =
    Program { name: "kubelet", package: "k8s.io/kubernetes/cmd/kubelet", module: &NODES };

/// Routes the addresses of Services on a node.
pub static KUBE_PROXY: Program =
    Program { name: "kube-proxy", package: "k8s.io/kubernetes/cmd/kube-proxy", module: &NODES };

/// Assigns Pods to nodes.
pub static KUBE_SCHEDULER: Program = Program {
    name: "kube-scheduler",
    package: "k8s.io/kubernetes/cmd/kube-scheduler",
    module: &NODES,
};

/// The DNS server of a cluster with nodes.
pub static COREDNS: Program = Program { name: "coredns", package: ".", module: &COREDNS_MODULE };

/// What the Pods of tests run.
pub static POD_SERVER: Program =
    Program { name: "pod-server", package: ".", module: &POD_SERVER_MODULE };

/// kubectl of the oldest version that the docs are for.
pub static KUBECTL_OLDEST: Program =
    Program { name: "kubectl-oldest", package: ".", module: &KUBECTL_OLDEST_MODULE };

/// Shows what Kubernetes' own reconciler of EndpointSlices does.
pub static SLICE_ORACLE: Program =
    Program { name: "endpointslice-oracle", package: ".", module: &ENDPOINTSLICE_ORACLE };

/// Takes traces as the OpenTelemetry Collector does.
pub static OTLP_RECEIVER: Program =
    Program { name: "otlp-receiver", package: ".", module: &OTLP_RECEIVER_MODULE };

/// The programs of a control plane, in the order they are built.
pub static PROGRAMS: [Program; 3] = control_plane(&KUBERNETES);

/// The programs of control planes of every supported release of Kubernetes, the oldest first; the last are [`PROGRAMS`].
pub static SUPPORTED: [[Program; 3]; 3] =
    [control_plane(&KUBERNETES_1_34), control_plane(&KUBERNETES_1_35), control_plane(&KUBERNETES)];

const fn control_plane(kubernetes: &'static Module) -> [Program; 3] {
    [
        Program { name: "etcd", package: "go.etcd.io/etcd/server/v3", module: &ETCD },
        Program {
            name: "kube-apiserver",
            package: "k8s.io/kubernetes/cmd/kube-apiserver",
            module: kubernetes,
        },
        Program {
            name: "kube-controller-manager",
            package: "k8s.io/kubernetes/cmd/kube-controller-manager",
            module: kubernetes,
        },
    ]
}

impl Module {
    /// The version of the programs, for example `v1.36.1`.
    pub fn version(&self) -> Result<&'static str> {
        required_version(self.go_mod, self.requirement)
            .with_context(|| format!("the {} module requires no {}", self.name, self.requirement))
    }
}

impl Module {
    /// Changes with every byte the module consists of.
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.go_mod, self.go_sum, self.sources).hash(&mut hasher);
        if !self.tags.is_empty() {
            self.tags.hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Program {
    /// Arguments of `go` that build the program into `output`.
    pub fn build_arguments(&self, output: &str) -> Result<Vec<String>> {
        let flags = linker_flags(self.module)?;
        let fixed = ["build", "-mod=readonly", "-trimpath", "-ldflags", &flags, "-o", output];
        let tags = Some(self.module.tags).filter(|tags| !tags.is_empty());
        let tags = tags.into_iter().flat_map(|tags| ["-tags", tags]);
        Ok(fixed.into_iter().chain(tags).chain([self.package]).map(str::to_owned).collect())
    }
}

/// Folder name of the cache of a control plane's programs: it changes when a pinned version changes.
pub fn cache_folder_name(programs: &[Program; 3]) -> Result<String> {
    let [etcd, kubernetes, _] = programs;
    let kubernetes = kubernetes.module.version()?.trim_start_matches('v');
    let etcd = etcd.module.version()?.trim_start_matches('v');
    Ok(format!("bin-k{kubernetes}-e{etcd}"))
}

/// Folder name of the cache of a program that is not part of a control plane: it changes when the program's version or
/// its text changes.
pub fn own_folder_name(program: &Program) -> Result<String> {
    let version = program.module.version()?.trim_start_matches('v');
    Ok(format!("{}-{version}-{:016x}", program.name, program.module.digest()))
}

/// The Go version that the modules ask for, for messages.
pub fn go_version() -> &'static str {
    KUBERNETES.go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.26").trim()
}

/// Kubernetes' programs and Helm report a version only if the linker has it; without it clients see `v0.0.0-master`.
/// Helm 3 takes the version of Kubernetes that templates see without a cluster in the same way.
fn linker_flags(module: &Module) -> Result<String> {
    let version = module.version()?;
    let kubernetes = |package: &str, names: [&str; 2], version: &str| {
        let mut numbers = version.trim_start_matches('v').split('.').skip(1);
        let minor = numbers.next().unwrap_or("0");
        let [major_name, minor_name] = names;
        format!(" -X {package}.{major_name}=1 -X {package}.{minor_name}={minor}")
    };
    let flags = match module.requirement {
        "k8s.io/kubernetes" | "k8s.io/kubectl" => {
            let package = "k8s.io/component-base/version";
            let numbers = kubernetes(package, ["gitMajor", "gitMinor"], version);
            // Kubernetes 1.32.3 publishes its libraries as v0.32.3.
            let version = version.replacen("v0.", "v1.", 1);
            format!(" -X {package}.gitVersion={version}{numbers}")
        }
        "helm.sh/helm/v3" => {
            let library = required_version(module.go_mod, "k8s.io/client-go").unwrap_or(version);
            let names = ["k8sVersionMajor", "k8sVersionMinor"];
            let packages = ["pkg/chartutil", "pkg/lint/rules"];
            let numbers = packages
                .map(|package| kubernetes(&format!("helm.sh/helm/v3/{package}"), names, library));
            format!(" -X helm.sh/helm/v3/internal/version.version={version}{}", numbers.concat())
        }
        "helm.sh/helm/v4" => format!(" -X helm.sh/helm/v4/internal/version.version={version}"),
        _ => String::new(),
    };
    Ok(format!("-s -w{flags}"))
}

/// The version in the line `<module> <version>` of a `go.mod`, alone or in a `require` block.
fn required_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let line = line.trim();
        let mut words = line.strip_prefix("require ").unwrap_or(line).split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_go_mod() {
        let go_mod = "module x\nrequire a.b/c v1.2.3\nrequire (\n\ta.b/c/d v4.5.6 // indirect\n)\nreplace a.b => ./x\n";
        assert_eq!(required_version(go_mod, "a.b/c"), Some("v1.2.3"));
        assert_eq!(required_version(go_mod, "a.b/c/d"), Some("v4.5.6"));
        assert_eq!(required_version(go_mod, "a.b"), None);
    }

    #[test]
    fn the_page_of_releases_has_the_patches_that_are_built() {
        let page = include_str!("../../../docs/versions.md");
        for [_, kubernetes, _] in &SUPPORTED {
            let patch = kubernetes.module.version().unwrap().trim_start_matches('v');
            let (minor, _) = patch.rsplit_once('.').unwrap();
            let row = format!("| {minor} | {patch} |");
            assert!(page.contains(&row), "docs/versions.md lacks {row}");
        }
        assert_eq!(KUBELET.module.version().unwrap(), PROGRAMS[1].module.version().unwrap());
    }

    #[test]
    fn the_pinned_modules_name_their_versions() {
        for program in &PROGRAMS {
            assert!(program.module.version().unwrap().starts_with('v'), "{}", program.name);
        }
        let folders = SUPPORTED.each_ref().map(|programs| cache_folder_name(programs).unwrap());
        for (folder, minor) in folders.iter().zip(["1.34.", "1.35.", "1.36."]) {
            assert!(folder.starts_with(&format!("bin-k{minor}")), "{folder}");
        }
        assert_eq!(folders[2], cache_folder_name(&PROGRAMS).unwrap());
        let own = |program| own_folder_name(program).unwrap();
        assert!(own(&SLICE_ORACLE).starts_with("endpointslice-oracle-0."));
        assert!(own(&KUBECTL).starts_with("kubectl-1."));
        assert!(own(&KUBECTL_OLDEST).starts_with("kubectl-oldest-0."));
        assert!(own(&OTLP_RECEIVER).starts_with("otlp-receiver-0."));
        assert!(own(&COREDNS).starts_with("coredns-1."));
        assert!(own(&POD_SERVER).starts_with("pod-server-1."));
        assert_eq!(NODES.version().unwrap(), KUBERNETES.version().unwrap());
        assert!(own(&HELMS[0]).starts_with("helm3-3.") && own(&HELMS[1]).starts_with("helm4-4."));
        assert!(go_version().starts_with("1."));
    }

    #[test]
    fn programs_are_told_their_version() {
        let flags = linker_flags(&KUBERNETES).unwrap();
        let version = KUBERNETES.version().unwrap();
        assert!(flags.contains(&format!("version.gitVersion={version} ")));
        assert!(
            flags.contains(&format!("version.gitMinor={}", version.split('.').nth(1).unwrap()))
        );
        let oldest = linker_flags(&KUBECTL_OLDEST_MODULE).unwrap();
        assert!(oldest.contains("version.gitVersion=v1.32."), "{oldest}");
        assert_eq!(linker_flags(&ETCD).unwrap(), "-s -w");
        // A chart may ask for a recent Kubernetes; without the flags Helm 3 takes it to be 1.20.
        let helm = linker_flags(&HELM3).unwrap();
        let minor = helm.rsplit("k8sVersionMinor=").next().unwrap();
        assert!(minor.parse::<u32>().unwrap() >= 36, "{helm}");
    }
}
