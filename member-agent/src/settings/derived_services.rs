//! What kind of Service an import gets.

/// The type of a derived Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DerivedServiceType {
    /// Reachable from outside of the cluster, as the original's.
    #[default]
    #[value(name = "LoadBalancer")]
    LoadBalancer,
    /// Reachable from within the cluster only.
    #[value(name = "ClusterIP")]
    ClusterIp,
}

impl DerivedServiceType {
    /// The value of `spec.type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LoadBalancer => "LoadBalancer",
            Self::ClusterIp => "ClusterIP",
        }
    }

    /// The type with this name in `spec.type`, `None` for any that no derived Service is given.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::LoadBalancer, Self::ClusterIp].into_iter().find(|known| known.as_str() == text)
    }
}

/// How derived Services are made. Those that exist stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DerivedServices {
    /// Type of those whose MultiClusterService requests none.
    pub service_type: DerivedServiceType,
    /// `spec.loadBalancerClass` of those of type `LoadBalancer`; by default that of the cluster.
    pub load_balancer_class: Option<String>,
}
