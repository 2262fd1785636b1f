//! What a hub and its members showed at one moment, as far as checks look at it. Data only.

mod base;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fleet_api::ObjectName;
use fleet_model::multicluster::mode::Mode;
use member_agent::ImportNamespaces;

pub use base::{Base, Install, Kind, OnHub, Policy, Proxy, Token};

use super::finding::{Read, known};
use crate::offload::OffloadStatus;

/// A fleet.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The hub.
    pub hub: Read<Hub>,
    /// The members that are looked at, by name.
    pub members: Vec<Member>,
}

/// A hub.
#[derive(Clone, Debug)]
pub struct Hub {
    /// Context of the hub, for the commands that are proposed.
    pub context: String,
    /// Names of its members: those that it has a namespace for.
    pub members: Read<Vec<String>>,
    /// Uid of its namespace `kube-system`.
    pub uid: Read<String>,
    /// The ClusterReports in members' namespaces.
    pub reports: Read<Vec<Report>>,
    /// What is in force.
    pub resolved: Read<Vec<Resolved>>,
    /// The served kinds of the group of ExportedService.
    pub kinds: Read<BTreeSet<String>>,
    /// Whether EndpointSliceExports carry host names and zones.
    pub has_endpoint_details: Read<bool>,
    /// What members offer to each other, and what became of it.
    pub offload: Read<OffloadStatus>,
    /// Members whose policies have ranges of executors, with these.
    pub executor_ranges: Read<Vec<(String, String)>>,
    /// What the hub agent stands on.
    pub base: Base,
    /// The names of its namespaces.
    pub namespaces: Read<BTreeSet<String>>,
    /// The namespaces of the Services that members export, by the number of those.
    pub exported: Read<BTreeMap<String, usize>>,
    /// Names of the members that have a MemberCluster.
    pub registered: Read<BTreeSet<String>>,
}

impl Hub {
    /// Whether the hub agent serves the standard API, as far as its answers to members show it.
    pub fn serves_standard(&self) -> Read<bool> {
        Ok(known(&self.reports)?.iter().any(|report| report.clusterset_id.is_some()))
    }
}

/// A ClusterReport.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The member whose namespace it is in.
    pub member: String,
    /// Uid of the namespace `kube-system` of the member's cluster.
    pub cluster_uid: String,
    /// The hub on which all exports of the member were complete.
    pub published_to: Option<String>,
    /// Which hub it is, as the hub agent has answered.
    pub incarnation: Option<String>,
    /// Id of the clusterset, likewise.
    pub clusterset_id: Option<String>,
    /// The condition `Accepted`.
    pub accepted: Option<Accepted>,
}

/// A condition `Accepted`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Whether it is True.
    pub is_true: bool,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
}

/// A ResolvedService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The Service.
    pub service: ObjectName,
    /// Whether it has no address of its own.
    pub is_headless: bool,
    /// The members whose endpoints form it; none once it is withdrawn.
    pub exporters: BTreeSet<String>,
    /// The families of its addresses; empty for any.
    pub families: Vec<String>,
}

impl Resolved {
    /// Whether a member exports it.
    pub fn is_exported(&self) -> bool {
        !self.exporters.is_empty()
    }
}

/// A member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its own cluster.
    pub own: Read<Cluster>,
}

/// The own cluster of a member.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its context, for the commands that are proposed.
    pub context: String,
    /// Uid of its namespace `kube-system`.
    pub uid: Read<String>,
    /// Flags of the member agent; `None` if no Deployment shows them.
    pub agent: Read<Option<Agent>>,
    /// The kinds of the standard API that it serves.
    pub served: Read<Served>,
    /// The groups of all APIs that it serves.
    pub groups: Read<BTreeSet<String>>,
    /// The definitions of the standard API.
    pub definitions: Read<Vec<Definition>>,
    /// Its CoreDNS; `None` if it has none where Kubernetes has it.
    pub dns: Read<Option<Dns>>,
    /// The configuration of CoreDNS.
    pub corefile: Read<Option<String>>,
    /// The verbs on ServiceImports that CoreDNS lacks.
    pub dns_lacks: Read<Vec<&'static str>>,
    /// The configuration of `NodeLocal DNSCache`; `None` without it.
    pub node_cache: Read<Option<String>>,
    /// Whether kubeadm made it.
    pub is_kubeadm: Read<bool>,
    /// Whether Cilium serves the standard API in it.
    pub has_cilium: Read<bool>,
    /// Its ServiceImports.
    pub imports: Read<Vec<Import>>,
    /// Its ClusterProperties.
    pub properties: Read<Vec<Property>>,
    /// The names of its namespaces.
    pub namespaces: Read<BTreeSet<String>>,
    /// The ranges of its ServiceCIDRs.
    pub ranges: Read<Vec<String>>,
    /// The addresses of its Services.
    pub addresses: Read<Vec<IpAddr>>,
    /// What the member agent stands on.
    pub base: Base,
    /// What the member agent may do on the hub.
    pub on_hub: Read<OnHub>,
    /// The kube-proxy of its nodes; `None` without one.
    pub proxy: Read<Option<Proxy>>,
    /// The ranges of Pods that its nodes have.
    pub pod_ranges: Read<BTreeSet<String>>,
    /// The token of its agent for the hub.
    pub token: Read<Token>,
}

impl Cluster {
    /// Whether the member takes part in the standard API. It is assumed where no flag shows the opposite.
    pub fn takes_part(&self) -> bool {
        !matches!(&self.agent, Ok(Some(agent)) if agent.mode != Mode::On)
    }
}

/// The flags of a member agent.
#[derive(Clone, Debug)]
pub struct Agent {
    /// How it serves the standard API.
    pub mode: Mode,
    /// What it imports.
    pub imports: ImportNamespaces,
    /// Whether it directs traffic by zone hints.
    pub gives_hints: bool,
    /// What it does on the hub beside exports and imports.
    pub features: BTreeSet<Feature>,
}

/// What a member agent does on the hub beside exports and imports, which its Deployment shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// It renews its Lease.
    Lease,
    /// It reads which endpoints get new connections.
    Traffic,
    /// It serves the standard API.
    Standard,
    /// It runs Pods of other members, or has them run its own.
    Offload,
    /// It reports what it reaches.
    Reachability,
}

/// Which kinds of the standard API a cluster serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Those of `multicluster.x-k8s.io/v1alpha1`.
    pub v1alpha1: BTreeSet<String>,
    /// Those of `multicluster.x-k8s.io/v1beta1`.
    pub v1beta1: BTreeSet<String>,
    /// Those of `about.k8s.io/v1beta1`.
    pub about: BTreeSet<String>,
}

/// A definition of the standard API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// The release that it is from.
    pub release: Option<String>,
    /// Its revision in that release.
    pub revision: Option<String>,
    /// Whether the status can state where endpoints are; true for kinds without that.
    pub has_slice_objects: bool,
}

/// The Deployment of CoreDNS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dns {
    /// Its image.
    pub image: String,
    /// Its ServiceAccount.
    pub account: String,
    /// The ConfigMap with its configuration.
    pub config_map: String,
}

/// A ServiceImport of the standard API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name.
    pub name: ObjectName,
    /// The hub that confirmed it; `None` if another implementation made it.
    pub mark: Option<String>,
    /// Who has written it.
    pub writers: BTreeSet<String>,
    /// Whether it has an address.
    pub has_address: bool,
}

/// A ClusterProperty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether the member agent made it.
    pub is_ours: bool,
}
