//! Flags and environment of the member agent.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{ArgAction, Parser};
use fleet_api::names;
use fleet_runtime::admin::Addresses;
use fleet_runtime::args::{RuntimeArgs, duration, watch_seconds};

use crate::{Identity, Mode, Settings};

/// Variable with the name of this cluster, as the original's agents know it.
const MEMBER_CLUSTER_NAME: &str = "MEMBER_CLUSTER_NAME";

/// Exports Services of its cluster to the hub and imports those of other members.
///
/// The own cluster is reached through KUBECONFIG, or as the Pod's service account. The hub is
/// reached through HUB_SERVER_URL with the token in the file CONFIG_PATH, and verified with
/// HUB_CERTIFICATE_AUTHORITY (base64 of PEM; without it the system's roots).
#[derive(Clone, Debug, Parser)]
#[command(name = "member-agent", version)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that have nothing to do with each other"
)]
pub struct Args {
    /// Flags of the process.
    #[command(flatten)]
    pub runtime: RuntimeArgs,

    /// Name of this cluster in the fleet. Required.
    // Checked by `identity`: the parser's complaint about a missing flag does not name the
    // variable, which is how it is set in a Pod.
    #[arg(long, env = MEMBER_CLUSTER_NAME, value_name = "NAME")]
    pub member_cluster_name: Option<String>,

    /// Namespace of derived Services and imported slices in this cluster.
    #[arg(
        long,
        env = "FLEET_SYSTEM_NAMESPACE",
        default_value = names::SYSTEM_NAMESPACE,
        value_name = "NAMESPACE"
    )]
    pub fleet_system_namespace: String,

    /// How long a derived Service, and with it its address, outlives its last exporter.
    #[arg(
        long,
        env = "DERIVED_SERVICE_GRACE_PERIOD",
        default_value = "60s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub derived_service_grace_period: Duration,

    /// Kubeconfig for the hub, in place of HUB_SERVER_URL and CONFIG_PATH.
    #[arg(long, env = "HUB_KUBECONFIG", value_name = "PATH")]
    pub hub_kubeconfig: Option<PathBuf>,

    /// After how long the hub's API server is to end a watch, at most 290s. The way there may be
    /// long: a connection that died without a word is noticed 5 s later.
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

    /// Export and import Services. Without it the agent only reports that this member is there.
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

    /// Make EndpointSlices of ExternalWorkloads, the kind of Linkerd for machines outside of
    /// Kubernetes, where it is served and no controller of Linkerd does so.
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

    /// Make EndpointSlices of pods: of no Service; of those with the annotation
    /// networking.fleet.azure.com/endpoint-network, from the addresses on that network; or of all,
    /// in the place of kube-controller-manager's endpointslice-controller.
    #[arg(long, env = "ENDPOINTSLICES", value_name = "MODE", value_enum, default_value_t)]
    pub endpointslices: Mode,

    /// Most endpoints of an EndpointSlice that this agent makes, 1 to 1000.
    #[arg(
        long,
        env = "MAX_ENDPOINTS_PER_SLICE",
        value_name = "NUMBER",
        default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    pub max_endpoints_per_slice: u16,

    /// How long a change of pods waits for others, so that EndpointSlices are written once for all.
    #[arg(
        long,
        env = "ENDPOINTSLICE_UPDATES_BATCH_PERIOD",
        default_value = "0s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub endpointslice_updates_batch_period: Duration,

    /// Further addresses of the original.
    #[command(flatten)]
    pub addresses: OriginalAddresses,

    /// Prepares this member for the Go agents and exits.
    ///
    /// Writes the annotation networking.fleet.azure.com/fleet-unique-name on each exported
    /// EndpointSlice, which keeps a Go agent from deleting and remaking what is exported. To be
    /// run after the last member agent has ended and before the first Go agent starts, with the
    /// right to patch EndpointSlices of all namespaces, which the agent itself does not have.
    // No variable: something that is done once must not stay behind in a Pod's environment.
    #[arg(long)]
    pub prepare_rollback: bool,
}

/// Addresses of the original, which ran two managers in a process. All serve the same.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct OriginalAddresses {
    /// Another address that serves /metrics.
    #[arg(long, env = "HUB_METRICS_BIND_ADDRESS", value_name = "ADDRESS")]
    pub hub_metrics_bind_address: Option<String>,

    /// Another address that serves /livez and /readyz.
    #[arg(long, env = "HUB_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS")]
    pub hub_health_probe_bind_address: Option<String>,

    /// Another address that serves /metrics.
    #[arg(long, env = "MEMBER_METRICS_BIND_ADDRESS", value_name = "ADDRESS")]
    pub member_metrics_bind_address: Option<String>,

    /// Another address that serves /livez and /readyz.
    #[arg(long, env = "MEMBER_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS")]
    pub member_health_probe_bind_address: Option<String>,
}

impl Args {
    /// The flags of the process, with the addresses of this agent's own.
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

    /// What the controllers have to know.
    ///
    /// # Errors
    /// One line that names the variable.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings {
            identity: self.identity()?,
            derived_service_grace: self.derived_service_grace_period,
            networking: self.enable_networking_features,
            external_workloads: self.external_workloads,
            endpointslices: self.endpointslices,
            max_endpoints_per_slice: usize::from(self.max_endpoints_per_slice),
            endpointslice_batch_period: self.endpointslice_updates_batch_period,
        })
    }

    /// Who this member is.
    ///
    /// # Errors
    /// One line that names the variable.
    pub fn identity(&self) -> anyhow::Result<Identity> {
        let name = self.member_cluster_name.as_deref().filter(|name| !name.trim().is_empty());
        let name = name.with_context(|| format!("{MEMBER_CLUSTER_NAME} is not set"))?;
        // The name is the end of a namespace on the hub, where a wrong one would show first.
        let namespace = names::member_namespace(name);
        if !names::is_dns1123_label(&namespace) {
            bail!("{MEMBER_CLUSTER_NAME}: {namespace:?} cannot be a namespace on the hub");
        }
        let system_namespace = self.fleet_system_namespace.clone();
        Ok(Identity { system_namespace, ..Identity::new(name) })
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
