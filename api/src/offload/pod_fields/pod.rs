//! Fields of a Pod's spec.

use super::common::{ID, LOCAL_PROFILE, SE_LINUX, SECONDS};
use super::containers::{CONTAINER, INIT_CONTAINER};
use super::rule::Rule::{Copy, CopyFalse, Drop, DropValue, Reject};
use super::rule::Shape::{Bool, Choice, Integer, List, SecretName, Text};
use super::rule::{Record, Shape, field};
use super::volumes::VOLUME;
use crate::offload::Refusal;

/// The spec of a Pod.
pub const POD: Record = Record {
    fields: &[
        field("activeDeadlineSeconds", Copy(Integer(1, SECONDS))),
        field("affinity", Drop),
        field("automountServiceAccountToken", Drop),
        field("containers", Copy(List(16, &Shape::Object(&CONTAINER)))),
        field("dnsConfig", Copy(Shape::Object(&DNS_CONFIG))),
        // By default names are those of the executor's cluster.
        field("dnsPolicy", DropValue("ClusterFirst", Choice(&["Default", "None"]))),
        field("enableServiceLinks", Drop),
        field("ephemeralContainers", Drop),
        field("hostAliases", Copy(List(32, &Shape::Object(&HOST_ALIAS)))),
        field("hostIPC", Reject(Refusal::HostAccess)),
        field("hostNetwork", Reject(Refusal::HostAccess)),
        field("hostPID", Reject(Refusal::HostAccess)),
        field("hostUsers", CopyFalse(None)),
        field("hostname", Drop),
        field("hostnameOverride", Reject(Refusal::UnsupportedField)),
        field("imagePullSecrets", Copy(List(8, &Shape::Object(&PULL_SECRET)))),
        field("initContainers", Copy(List(16, &Shape::Object(&INIT_CONTAINER)))),
        field("nodeName", Drop),
        field("nodeSelector", Drop),
        field("os", Copy(Shape::Object(&OPERATING_SYSTEM))),
        field("overhead", Drop),
        field("preemptionPolicy", Drop),
        field("priority", Drop),
        field("priorityClassName", Drop),
        field("readinessGates", Drop),
        field("resourceClaims", Reject(Refusal::ResourceClaims)),
        field("resources", Reject(Refusal::UnsupportedField)),
        field("restartPolicy", Copy(Choice(&["Always", "OnFailure", "Never"]))),
        field("runtimeClassName", Drop),
        field("schedulerName", Drop),
        field("schedulingGates", Drop),
        field("securityContext", Copy(Shape::Object(&SECURITY))),
        field("serviceAccount", Drop),
        field("serviceAccountName", Drop),
        field("setHostnameAsFQDN", Drop),
        field("shareProcessNamespace", Copy(Bool)),
        field("subdomain", Drop),
        field("terminationGracePeriodSeconds", Copy(Integer(0, 604_800))),
        field("tolerations", Drop),
        field("topologySpreadConstraints", Drop),
        field("volumes", Copy(List(32, &Shape::Object(&VOLUME)))),
    ],
    otherwise: Refusal::UnknownField,
};

const OPERATING_SYSTEM: Record =
    Record { fields: &[field("name", Copy(Choice(&["linux"])))], otherwise: Refusal::UnknownField };

const PULL_SECRET: Record =
    Record { fields: &[field("name", Copy(SecretName))], otherwise: Refusal::UnknownField };

const HOST_ALIAS: Record = Record {
    fields: &[field("hostnames", Copy(List(16, &Text(253)))), field("ip", Copy(Text(45)))],
    otherwise: Refusal::UnknownField,
};

/// Checked against the terms of the executor, too.
const DNS_CONFIG: Record = Record {
    fields: &[
        field("nameservers", Copy(List(3, &Text(45)))),
        field("options", Copy(List(16, &Shape::Object(&DNS_OPTION)))),
        field("searches", Copy(List(32, &Text(253)))),
    ],
    otherwise: Refusal::UnknownField,
};

const DNS_OPTION: Record = Record {
    fields: &[field("name", Copy(Text(63))), field("value", Copy(Text(63)))],
    otherwise: Refusal::UnknownField,
};

/// The security context of a Pod. Checked against the executor's Pod Security Standard, too.
const SECURITY: Record = Record {
    fields: &[
        field("appArmorProfile", Copy(Shape::Object(&LOCAL_PROFILE))),
        field("fsGroup", Copy(Integer(0, ID))),
        field("fsGroupChangePolicy", Copy(Choice(&["OnRootMismatch", "Always"]))),
        field("runAsGroup", Copy(Integer(0, ID))),
        field("runAsNonRoot", Copy(Bool)),
        field("runAsUser", Copy(Integer(0, ID))),
        field("seLinuxChangePolicy", Drop),
        field("seLinuxOptions", Copy(Shape::Object(&SE_LINUX))),
        field("seccompProfile", Copy(Shape::Object(&LOCAL_PROFILE))),
        field("supplementalGroups", Copy(List(64, &Integer(0, ID)))),
        field("supplementalGroupsPolicy", Copy(Choice(&["Merge", "Strict"]))),
        field("sysctls", Reject(Refusal::PodSecurity)),
        field("windowsOptions", Reject(Refusal::PodSecurity)),
    ],
    otherwise: Refusal::UnknownField,
};
