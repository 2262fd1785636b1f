//! Flags and environment of the member agent.

use clap::Parser;
use fleet_api::names;
use fleet_runtime::args::RuntimeArgs;

use crate::Identity;

/// Exports Services of its cluster to the hub and imports those of other members.
///
/// The own cluster is reached through KUBECONFIG, or as the Pod's service account. The hub is
/// reached through HUB_SERVER_URL with the token in the file CONFIG_PATH, and verified with
/// HUB_CERTIFICATE_AUTHORITY (base64 of PEM; without it the system's roots).
#[derive(Clone, Debug, Parser)]
#[command(name = "member-agent", version)]
pub struct Args {
    /// Flags of the process.
    #[command(flatten)]
    pub runtime: RuntimeArgs,

    /// Name of this cluster in the fleet.
    #[arg(long, env = "MEMBER_CLUSTER_NAME", value_name = "NAME", value_parser = cluster_name)]
    pub member_cluster_name: String,

    /// Namespace of derived Services and imported slices in this cluster.
    #[arg(
        long,
        env = "FLEET_SYSTEM_NAMESPACE",
        default_value = names::SYSTEM_NAMESPACE,
        value_name = "NAMESPACE"
    )]
    pub fleet_system_namespace: String,
}

impl Args {
    /// Who this member is.
    pub fn identity(&self) -> Identity {
        let system_namespace = self.fleet_system_namespace.clone();
        Identity { system_namespace, ..Identity::new(self.member_cluster_name.as_str()) }
    }
}

/// The name is the end of a namespace on the hub, which is where a wrong one would show first.
fn cluster_name(text: &str) -> Result<String, String> {
    let namespace = names::member_namespace(text);
    if text.is_empty() || !names::is_dns1123_label(&namespace) {
        return Err(format!("{namespace:?} cannot be a namespace on the hub"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(["member-agent", "--member-cluster-name", name])
    }

    #[test]
    fn the_name_decides_the_namespace_on_the_hub() {
        let identity = parse("east-1").unwrap().identity();
        assert_eq!(identity.hub_namespace, "fleet-member-east-1");
        assert_eq!(identity.system_namespace, "fleet-system");
    }

    #[test]
    fn a_name_that_makes_no_namespace_is_refused() {
        for name in ["", "East", "a_b", "a.b", "-", &"x".repeat(60)] {
            assert!(parse(name).is_err(), "{name}");
        }
    }
}
