//! Flags and environment of the member agent.

mod hub_token;
mod multicluster;
mod reachability;
mod traffic;
mod virtual_node;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{ArgAction, Parser};
use fleet_api::names;
use fleet_model::cidr::Cidrs;
use fleet_model::denied_namespaces::DeniedNamespaces;
use fleet_runtime::admin::Addresses;
use fleet_runtime::args::{RuntimeArgs, duration, watch_seconds};

pub use hub_token::HubTokenArgs;
pub use multicluster::MulticlusterArgs;
pub use reachability::ReachabilityMode;
pub use traffic::{NodeProxy, TrafficArgs};
pub use virtual_node::VirtualNodeArgs;

use crate::settings::LINKERD_NAMESPACE;
use crate::{
    AllowedReservedCidrs, DerivedServiceType, DerivedServices, Identity, Mode, Multicluster,
    MulticlusterMode, ReservedAddresses, Settings, Traffic, VirtualNodes,
};

/// Variable with the name of this cluster, as with the original's agents.
const MEMBER_CLUSTER_NAME: &str = "MEMBER_CLUSTER_NAME";

/// Exports Services of this cluster to the hub and imports those of other members.
///
/// The agent connects to its own cluster with KUBECONFIG or the Pod's service account, and to the hub at HUB_SERVER_URL
/// with the token in the file CONFIG_PATH. It verifies the hub's certificate with HUB_CERTIFICATE_AUTHORITY (base64 of
/// PEM; by default with the system's certificates).
#[derive(Clone, Debug, Parser)]
#[command(name = "member-agent", version)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Args {
    /// Flags of the process.
    #[command(flatten)]
    pub runtime: RuntimeArgs,

    /// Name of this cluster in the fleet. Required.
    // Checked by `identity`: the parser's error about a missing flag does not name the variable, which is how it is
    // set in a Pod.
    #[arg(long, env = MEMBER_CLUSTER_NAME, value_name = "NAME")]
    pub member_cluster_name: Option<String>,

    /// Namespace of derived Services and imported EndpointSlices in this cluster.
    #[arg(
        long,
        env = "FLEET_SYSTEM_NAMESPACE",
        default_value = names::SYSTEM_NAMESPACE,
        value_name = "NAMESPACE"
    )]
    pub fleet_system_namespace: String,

    /// Time that a derived Service, and with it its address, is kept after its last exporter is gone.
    #[arg(
        long,
        env = "DERIVED_SERVICE_GRACE_PERIOD",
        default_value = "60s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub derived_service_grace_period: Duration,

    /// Type of new derived Services. Those that exist keep theirs; the annotation
    /// networking.fleet.azure.com/derived-service-type on a MultiClusterService requests another one.
    #[arg(long, env = "DERIVED_SERVICE_TYPE", value_name = "TYPE", value_enum, default_value_t)]
    pub derived_service_type: DerivedServiceType,

    /// Class of the load balancers of new derived Services; by default that of the cluster.
    #[arg(
        long,
        env = "DERIVED_SERVICE_LOAD_BALANCER_CLASS",
        value_name = "CLASS",
        value_parser = load_balancer_class
    )]
    pub derived_service_load_balancer_class: Option<String>,

    /// Kubeconfig for the hub, instead of HUB_SERVER_URL and CONFIG_PATH.
    #[arg(long, env = "HUB_KUBECONFIG", value_name = "PATH")]
    pub hub_kubeconfig: Option<PathBuf>,

    /// The token for the hub.
    #[command(flatten)]
    pub hub_token: HubTokenArgs,

    /// Time after which the hub's API server ends a watch, at most 290s. A broken connection is detected 5 s later at
    /// the latest.
    #[arg(
        long,
        env = "HUB_WATCH_TIMEOUT",
        default_value = "45s",
        value_name = "DURATION",
        value_parser = watch_seconds
    )]
    pub hub_watch_timeout: u32,

    /// Do not verify the hub's certificate.
    #[arg(
        long,
        env = "TLS_INSECURE",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub tls_insecure: bool,

    /// Export and import Services. If false, the agent only reports to the hub that this member has joined or left.
    #[arg(
        long,
        env = "ENABLE_NETWORKING_FEATURES",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub enable_networking_features: bool,

    /// Namespaces whose Services are neither exported nor imported, as `name` or `beginning*`. Exports and imports in force
    /// stay. The system namespace is always one of them.
    #[arg(
        long,
        env = "DENIED_NAMESPACES",
        default_value = DeniedNamespaces::DEFAULT,
        value_name = "PATTERNS"
    )]
    pub denied_namespaces: DeniedNamespaces,

    /// Ranges whose addresses endpoints of other clusters must not have in this one, beside its Service ranges and the addresses
    /// of its Nodes and API server: the Service range where the API server serves no ServiceCIDRs, or further networks.
    #[arg(
        long,
        env = "RESERVED_CIDRS",
        default_value = "",
        hide_default_value = true,
        value_name = "CIDRS"
    )]
    pub reserved_cidrs: Cidrs,

    /// Ranges that a cluster's endpoints may be in although they are reserved in this one, as `cluster=cidr` or, for every
    /// cluster, `*=cidr`.
    #[arg(
        long,
        env = "ALLOWED_RESERVED_CIDRS",
        default_value = "",
        hide_default_value = true,
        value_name = "PAIRS"
    )]
    pub allowed_reserved_cidrs: AllowedReservedCidrs,

    /// The standard API of SIG Multicluster.
    #[command(flatten)]
    pub multicluster: MulticlusterArgs,

    /// Renew the Lease fleet-member in this member's namespace on the hub, every 10 seconds. The hub agent has the same flag, to
    /// follow the Leases. Requires a right on the hub.
    #[arg(
        long,
        env = "MEMBER_LEASE",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub member_lease: bool,

    /// Create EndpointSlices for ExternalWorkloads, Linkerd's kind for machines outside of Kubernetes, if the API server
    /// serves that kind and Linkerd's own controller does not create them.
    #[arg(
        long,
        env = "EXTERNAL_WORKLOADS",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub external_workloads: bool,

    /// Ranges that the addresses of ExternalWorkloads are in; other addresses are skipped. By default, any address is accepted.
    #[arg(
        long,
        env = "EXTERNAL_WORKLOAD_CIDRS",
        default_value = "",
        hide_default_value = true,
        value_name = "CIDRS"
    )]
    pub external_workload_cidrs: Cidrs,

    /// Namespace of Linkerd's control plane. While Linkerd's controller holds its Lease there, this agent creates no EndpointSlices
    /// for ExternalWorkloads.
    #[arg(
        long,
        env = "LINKERD_NAMESPACE",
        default_value = LINKERD_NAMESPACE,
        value_name = "NAMESPACE",
        value_parser = namespace
    )]
    pub linkerd_namespace: String,

    /// Services for whose pods the agent creates EndpointSlices: none; those with the annotation
    /// networking.fleet.azure.com/endpoint-network, from the pods' addresses on that network; or all, instead of
    /// kube-controller-manager's endpointslice-controller.
    #[arg(long, env = "ENDPOINTSLICES", value_name = "MODE", value_enum, default_value_t)]
    pub endpointslices: Mode,

    /// Ranges that the addresses of pods on secondary networks are in; pods with other addresses there are skipped. By default,
    /// any address is accepted.
    #[arg(
        long,
        env = "ENDPOINT_NETWORK_CIDRS",
        default_value = "",
        hide_default_value = true,
        value_name = "CIDRS"
    )]
    pub endpoint_network_cidrs: Cidrs,

    /// Maximum number of endpoints per EndpointSlice created by this agent, 1 to 1000.
    #[arg(
        long,
        env = "MAX_ENDPOINTS_PER_SLICE",
        value_name = "NUMBER",
        default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    pub max_endpoints_per_slice: u16,

    /// Time for which changes of pods are collected before EndpointSlices are written.
    #[arg(
        long,
        env = "ENDPOINTSLICE_UPDATES_BATCH_PERIOD",
        default_value = "0s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub endpointslice_updates_batch_period: Duration,

    /// Pods of other members, and for them.
    #[command(flatten)]
    pub virtual_node: VirtualNodeArgs,

    /// How traffic of imported Services is directed.
    #[command(flatten)]
    pub traffic: TrafficArgs,

    /// What to dial, at most five times a second, to prove that imported Services are reached: imported endpoints and the addresses of
    /// their Services, and their names, too. Requires the ReachReport on the hub.
    #[arg(long, env = "REACHABILITY", value_name = "MODE", value_enum, default_value_t)]
    pub reachability: ReachabilityMode,

    /// Additional addresses of the original.
    #[command(flatten)]
    pub addresses: OriginalAddresses,

    /// Prepare this member for the Go agents, and exit.
    ///
    /// Adds the annotation networking.fleet.azure.com/fleet-unique-name to each exported EndpointSlice, so that a Go agent
    /// does not delete and recreate its EndpointSliceExport. Run it after the last member agent has stopped and before the
    /// first Go agent starts, with permission to patch EndpointSlices of all namespaces, which the agent itself does not
    /// have.
    // No variable: a one-time command must not remain in the environment of a Pod.
    #[arg(long)]
    pub prepare_rollback: bool,
}

/// Addresses of the original, which ran two managers in a process. All of them serve the same content.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct OriginalAddresses {
    /// Additional address that serves /metrics.
    #[arg(long, env = "HUB_METRICS_BIND_ADDRESS", value_name = "ADDRESS")]
    pub hub_metrics_bind_address: Option<String>,

    /// Additional address that serves /livez and /readyz.
    #[arg(long, env = "HUB_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS")]
    pub hub_health_probe_bind_address: Option<String>,

    /// Additional address that serves /metrics.
    #[arg(long, env = "MEMBER_METRICS_BIND_ADDRESS", value_name = "ADDRESS")]
    pub member_metrics_bind_address: Option<String>,

    /// Additional address that serves /livez and /readyz.
    #[arg(long, env = "MEMBER_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS")]
    pub member_health_probe_bind_address: Option<String>,
}

impl Args {
    /// The flags of the process, with the additional addresses of this agent.
    pub fn runtime(&self) -> RuntimeArgs {
        let also = |flags: [(&'static str, &Option<String>); 2]| {
            let given = flags.into_iter().filter_map(|(flag, text)| Some((flag, text.clone()?)));
            given.collect()
        };
        let own = &self.addresses;
        let also = Addresses {
            metrics: also([
                ("--hub-metrics-bind-address", &own.hub_metrics_bind_address),
                ("--member-metrics-bind-address", &own.member_metrics_bind_address),
            ]),
            health: also([
                ("--hub-health-probe-bind-address", &own.hub_health_probe_bind_address),
                ("--member-health-probe-bind-address", &own.member_health_probe_bind_address),
            ]),
        };
        RuntimeArgs { also, ..self.runtime.clone() }
    }

    /// The settings of the controllers.
    ///
    /// # Errors
    /// One line that names the variable.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings {
            identity: self.identity()?,
            derived_service_grace: self.derived_service_grace_period,
            derived_services: DerivedServices {
                service_type: self.derived_service_type,
                load_balancer_class: self.derived_service_load_balancer_class.clone(),
            },
            networking: self.enable_networking_features,
            multicluster: self.multicluster()?,
            denied_namespaces: self.denied_namespaces.clone(),
            reserved_addresses: ReservedAddresses {
                cidrs: self.reserved_cidrs.clone(),
                api_server: None,
                allowed: self.allowed_reserved_cidrs.clone(),
            },
            external_workloads: self.external_workloads,
            external_workload_cidrs: self.external_workload_cidrs.clone(),
            linkerd_namespace: self.linkerd_namespace.clone(),
            endpointslices: self.endpointslices,
            endpoint_network_cidrs: self.endpoint_network_cidrs.clone(),
            max_endpoints_per_slice: usize::from(self.max_endpoints_per_slice),
            endpointslice_batch_period: self.endpointslice_updates_batch_period,
            virtual_nodes: self.virtual_nodes()?,
            traffic: self.traffic()?,
            reachability: self.reachability.into(),
        })
    }

    /// What is done with Pods of other members, and for them.
    fn virtual_nodes(&self) -> anyhow::Result<VirtualNodes> {
        let settings = self.virtual_node.settings();
        // Without it neither side knows whether the other one still works.
        if settings.is_on() && !self.member_lease {
            bail!("--virtual-node-origin and --virtual-node-executor require --member-lease");
        }
        let name = self.member_cluster_name.as_deref().unwrap_or_default();
        if settings.is_on() && !names::is_dns1123_label(name) {
            bail!("{MEMBER_CLUSTER_NAME}: for virtual nodes, {name:?} has to be a DNS label");
        }
        Ok(settings)
    }

    /// How traffic of imported Services is directed.
    fn traffic(&self) -> anyhow::Result<Traffic> {
        let settings = self.traffic.settings();
        if settings.enabled && !self.enable_networking_features {
            bail!("--traffic requires --enable-networking-features");
        }
        Ok(settings)
    }

    /// How the standard API is served.
    fn multicluster(&self) -> anyhow::Result<Multicluster> {
        let multicluster = self.multicluster.settings();
        if multicluster.is_watched() && !self.enable_networking_features {
            bail!("--multicluster requires --enable-networking-features");
        }
        let name = self.member_cluster_name.as_deref().unwrap_or_default();
        if multicluster.mode == MulticlusterMode::On && !names::is_dns1123_label(name) {
            bail!("{MEMBER_CLUSTER_NAME}: with --multicluster=on, {name:?} has to be a DNS label");
        }
        Ok(multicluster)
    }

    /// The identity of this member.
    ///
    /// # Errors
    /// One line that names the variable.
    pub fn identity(&self) -> anyhow::Result<Identity> {
        let name = self.member_cluster_name.as_deref().filter(|name| !name.trim().is_empty());
        let name = name.with_context(|| format!("{MEMBER_CLUSTER_NAME} is not set"))?;
        // The name is the end of a namespace on the hub, so it is checked here and not only there.
        let namespace = names::member_namespace(name);
        if !names::is_dns1123_label(&namespace) {
            bail!("{MEMBER_CLUSTER_NAME}: {namespace:?} cannot be a namespace on the hub");
        }
        let system_namespace = self.fleet_system_namespace.clone();
        Ok(Identity { system_namespace, ..Identity::new(name) })
    }
}

/// The name of a namespace: without one, all namespaces would be watched.
fn namespace(text: &str) -> Result<String, String> {
    if names::is_dns1123_label(text) {
        Ok(text.to_owned())
    } else {
        Err("not the name of a namespace".to_owned())
    }
}

fn load_balancer_class(text: &str) -> Result<String, String> {
    if names::is_qualified_name(text) {
        Ok(text.to_owned())
    } else {
        Err("not a class: it looks like `example.com/internal-vip`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str) -> anyhow::Result<Identity> {
        Args::try_parse_from(["member-agent", "--member-cluster-name", name])?.identity()
    }

    #[test]
    fn the_name_decides_the_namespace_on_the_hub() {
        let identity = identity("east-1").unwrap();
        assert_eq!(identity.hub_namespace, "fleet-member-east-1");
        assert_eq!(identity.system_namespace, "fleet-system");
    }

    #[test]
    fn the_grace_period_is_a_duration() {
        let grace = |text: &str| {
            let flags = ["member-agent", "--derived-service-grace-period", text];
            Args::try_parse_from(flags).map(|args| args.derived_service_grace_period)
        };
        assert_eq!(grace("0s").unwrap(), Duration::ZERO);
        assert_eq!(grace("1m30s").unwrap(), Duration::from_secs(90));
        let args = Args::try_parse_from(["member-agent"]).unwrap();
        assert_eq!(args.derived_service_grace_period, crate::settings::DERIVED_SERVICE_GRACE);
        for wrong in ["soon", "60", "-5s", ""] {
            assert!(grace(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn derived_services_are_of_the_originals_type_unless_another_one_is_given() {
        let derived = |flags: &[&str]| {
            let args = ["member-agent", "--member-cluster-name=a"].iter().chain(flags);
            anyhow::Ok(Args::try_parse_from(args)?.settings()?.derived_services)
        };
        assert_eq!(derived(&[]).unwrap(), DerivedServices::default());
        assert_eq!(DerivedServices::default().service_type, DerivedServiceType::LoadBalancer);
        let class = "--derived-service-load-balancer-class=example.com/internal-vip";
        let given = derived(&["--derived-service-type=ClusterIP", class]).unwrap();
        assert_eq!(given.service_type, DerivedServiceType::ClusterIp);
        assert_eq!(given.load_balancer_class.as_deref(), Some("example.com/internal-vip"));
        for wrong in [
            "--derived-service-type=NodePort",
            "--derived-service-type=clusterip",
            "--derived-service-load-balancer-class=",
            "--derived-service-load-balancer-class=not a class",
        ] {
            assert!(derived(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn linkerd_is_in_its_usual_namespace_unless_another_one_is_given() {
        let namespace = |flags: &[&str]| {
            let args = ["member-agent", "--member-cluster-name=a"].iter().chain(flags);
            anyhow::Ok(Args::try_parse_from(args)?.settings()?.linkerd_namespace)
        };
        assert_eq!(namespace(&[]).unwrap(), Settings::new("a").linkerd_namespace);
        assert_eq!(namespace(&["--linkerd-namespace=mesh"]).unwrap(), "mesh");
        for wrong in ["", "A", "a/b", "a,b"] {
            assert!(namespace(&[&format!("--linkerd-namespace={wrong}")]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_standard_api_is_off_unless_it_is_asked_for() {
        let settings = |flags: &[&str]| {
            let args = ["member-agent"].iter().chain(flags);
            anyhow::Ok(Args::try_parse_from(args)?.settings()?.multicluster)
        };
        let name = "--member-cluster-name=a";
        assert_eq!(settings(&[name]).unwrap(), Multicluster::default());
        assert_eq!(Multicluster::default().mode, MulticlusterMode::Off);
        let flags = [name, "--multicluster=clean-up", "--multicluster-settle=5s"];
        let given = settings(&flags).unwrap();
        assert_eq!((given.mode, given.settle), (MulticlusterMode::CleanUp, Duration::from_secs(5)));
        for wrong in [
            &[name, "--multicluster=yes"][..],
            &[name, "--multicluster=on", "--enable-networking-features=false"],
            &["--member-cluster-name=-a", "--multicluster=on"],
        ] {
            assert!(settings(wrong).is_err(), "{wrong:?}");
        }
        assert!(settings(&["--member-cluster-name=-a"]).is_ok(), "as before without the API");
    }

    #[test]
    fn the_arguments_of_the_original_chart_are_taken() {
        let args = Args::try_parse_from([
            "member-agent",
            "--leader-election-namespace=fleet-system",
            "--fleet-system-namespace=fleet-system",
            "--v=2",
            "--add_dir_header",
            "--tls-insecure=true",
            "--enable-traffic-manager-feature=false",
            "--enable-networking-features=true",
            "--member-health-probe-bind-address=:8091",
        ]);
        let args = args.unwrap();
        assert!(args.tls_insecure && args.enable_networking_features);
        let health = args.runtime().addresses().health;
        let flags: Vec<_> = health.iter().map(|(flag, text)| (*flag, text.as_str())).collect();
        let second = ("--member-health-probe-bind-address", ":8091");
        assert_eq!(flags, [("--health-probe-bind-address", ":8081"), second]);
        assert!(!Args::try_parse_from(["member-agent"]).unwrap().tls_insecure);
    }

    #[test]
    fn a_name_that_makes_no_namespace_is_refused() {
        for name in ["", "East", "a_b", "a.b", "-", &"x".repeat(60)] {
            let error = identity(name).unwrap_err().to_string();
            assert!(error.starts_with(MEMBER_CLUSTER_NAME), "{error}");
        }
    }
}
