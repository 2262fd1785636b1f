//! Fields of containers.

use super::common::{ID, LOCAL_PROFILE, SE_LINUX, SECONDS};
use super::rule::Rule::{Copy, CopyFalse, Drop, Reject, RejectUnless};
use super::rule::Shape::{
    Bool, Choice, ConfigMapName, Integer, List, Map, Object, Port, Quantity, SecretName, Text,
};
use super::rule::{Field, Record, field};
use crate::offload::Refusal;

/// A container.
pub const CONTAINER: Record = Record {
    fields: &container(field("restartPolicy", Reject(Refusal::UnsupportedField))),
    otherwise: Refusal::UnknownField,
};

/// An init container. One that is always restarted is a sidecar.
pub const INIT_CONTAINER: Record = Record {
    fields: &container(field("restartPolicy", Copy(Choice(&["Always"])))),
    otherwise: Refusal::UnknownField,
};

const fn container(restart_policy: Field) -> [Field; 25] {
    [
        field("args", Copy(List(128, &Text(4096)))),
        field("command", Copy(List(128, &Text(4096)))),
        field("env", Copy(List(128, &Object(&VARIABLE)))),
        field("envFrom", Copy(List(16, &Object(&VARIABLES)))),
        field("image", Copy(Text(512))),
        field("imagePullPolicy", Copy(Choice(&["Always", "IfNotPresent", "Never"]))),
        field("lifecycle", Copy(Object(&LIFECYCLE))),
        field("livenessProbe", Copy(Object(&PROBE))),
        field("name", Copy(Text(63))),
        field("ports", Copy(List(64, &Object(&PORT)))),
        field("readinessProbe", Copy(Object(&PROBE))),
        // Resizing in place is not forwarded.
        field("resizePolicy", Drop),
        field("resources", Copy(Object(&RESOURCES))),
        restart_policy,
        field("restartPolicyRules", Reject(Refusal::UnsupportedField)),
        field("securityContext", Copy(Object(&SECURITY))),
        field("startupProbe", Copy(Object(&PROBE))),
        field("stdin", Reject(Refusal::InteractiveContainer)),
        field("stdinOnce", Reject(Refusal::InteractiveContainer)),
        field("terminationMessagePath", Copy(Text(253))),
        field("terminationMessagePolicy", Copy(Choice(&["File", "FallbackToLogsOnError"]))),
        field("tty", Reject(Refusal::InteractiveContainer)),
        field("volumeDevices", Reject(Refusal::UnsupportedVolume)),
        field("volumeMounts", Copy(List(32, &Object(&MOUNT)))),
        field("workingDir", Copy(Text(1024))),
    ]
}

/// An environment variable.
const VARIABLE: Record = Record {
    fields: &[
        field("name", Copy(Text(253))),
        field("value", Copy(Text(4096))),
        field("valueFrom", Copy(Object(&VARIABLE_SOURCE))),
    ],
    otherwise: Refusal::UnknownField,
};

const VARIABLE_SOURCE: Record = Record {
    fields: &[
        field("configMapKeyRef", Copy(Object(&CONFIG_MAP_KEY))),
        field("fieldRef", Copy(Object(&POD_FIELD))),
        field("fileKeyRef", Reject(Refusal::UnsupportedField)),
        field("resourceFieldRef", Copy(Object(&RESOURCE_FIELD))),
        field("secretKeyRef", Copy(Object(&SECRET_KEY))),
    ],
    otherwise: Refusal::UnknownField,
};

const CONFIG_MAP_KEY: Record = Record {
    fields: &[
        field("key", Copy(Text(253))),
        field("name", Copy(ConfigMapName)),
        field("optional", Copy(Bool)),
    ],
    otherwise: Refusal::UnknownField,
};

const SECRET_KEY: Record = Record {
    fields: &[
        field("key", Copy(Text(253))),
        field("name", Copy(SecretName)),
        field("optional", Copy(Bool)),
    ],
    otherwise: Refusal::UnknownField,
};

/// What the kubelet of the executor knows of a Pod. What the origin knows crosses as a value.
const POD_FIELD: Record = Record {
    fields: &[
        field("apiVersion", Copy(Choice(&["v1"]))),
        field(
            "fieldPath",
            Copy(Choice(&[
                "spec.nodeName",
                "status.hostIP",
                "status.hostIPs",
                "status.podIP",
                "status.podIPs",
            ])),
        ),
    ],
    otherwise: Refusal::UnknownField,
};

pub(super) const RESOURCE_FIELD: Record = Record {
    fields: &[
        field("containerName", Copy(Text(63))),
        field("divisor", Copy(Quantity)),
        field("resource", Copy(Text(317))),
    ],
    otherwise: Refusal::UnknownField,
};

const VARIABLES: Record = Record {
    fields: &[
        field("configMapRef", Copy(Object(&CONFIG_MAP))),
        field("prefix", Copy(Text(253))),
        field("secretRef", Copy(Object(&SECRET))),
    ],
    otherwise: Refusal::UnknownField,
};

const CONFIG_MAP: Record = Record {
    fields: &[field("name", Copy(ConfigMapName)), field("optional", Copy(Bool))],
    otherwise: Refusal::UnknownField,
};

const SECRET: Record = Record {
    fields: &[field("name", Copy(SecretName)), field("optional", Copy(Bool))],
    otherwise: Refusal::UnknownField,
};

const PORT: Record = Record {
    fields: &[
        field("containerPort", Copy(Integer(1, 65535))),
        field("hostIP", Reject(Refusal::HostAccess)),
        field("hostPort", Reject(Refusal::HostAccess)),
        field("name", Copy(Text(15))),
        field("protocol", Copy(Choice(&["TCP", "UDP", "SCTP"]))),
    ],
    otherwise: Refusal::UnknownField,
};

const RESOURCES: Record = Record {
    fields: &[
        field("claims", Reject(Refusal::ResourceClaims)),
        field("limits", Copy(Map(16, &Quantity))),
        field("requests", Copy(Map(16, &Quantity))),
    ],
    otherwise: Refusal::UnknownField,
};

const MOUNT: Record = Record {
    fields: &[
        field("mountPath", Copy(Text(1024))),
        field("mountPropagation", RejectUnless("None", Refusal::HostAccess)),
        field("name", Copy(Text(63))),
        field("readOnly", Copy(Bool)),
        field("recursiveReadOnly", Copy(Choice(&["Disabled", "IfPossible", "Enabled"]))),
        field("subPath", Copy(Text(1024))),
        field("subPathExpr", Copy(Text(1024))),
    ],
    otherwise: Refusal::UnknownField,
};

const LIFECYCLE: Record = Record {
    fields: &[
        field("postStart", Copy(Object(&HANDLER))),
        field("preStop", Copy(Object(&HANDLER))),
        field("stopSignal", Reject(Refusal::UnsupportedField)),
    ],
    otherwise: Refusal::UnknownField,
};

const HANDLER: Record = Record {
    fields: &[
        field("exec", Copy(Object(&EXEC))),
        field("httpGet", Copy(Object(&HTTP_GET))),
        field("sleep", Copy(Object(&SLEEP))),
        field("tcpSocket", Copy(Object(&TCP_SOCKET))),
    ],
    otherwise: Refusal::UnknownField,
};

const PROBE: Record = Record {
    fields: &[
        field("exec", Copy(Object(&EXEC))),
        field("failureThreshold", Copy(Integer(0, SECONDS))),
        field("grpc", Copy(Object(&GRPC))),
        field("httpGet", Copy(Object(&HTTP_GET))),
        field("initialDelaySeconds", Copy(Integer(0, SECONDS))),
        field("periodSeconds", Copy(Integer(0, SECONDS))),
        field("successThreshold", Copy(Integer(0, SECONDS))),
        field("tcpSocket", Copy(Object(&TCP_SOCKET))),
        field("terminationGracePeriodSeconds", Copy(Integer(1, SECONDS))),
        field("timeoutSeconds", Copy(Integer(0, SECONDS))),
    ],
    otherwise: Refusal::UnknownField,
};

const EXEC: Record = Record {
    fields: &[field("command", Copy(List(128, &Text(4096))))],
    otherwise: Refusal::UnknownField,
};

const GRPC: Record = Record {
    fields: &[field("port", Copy(Integer(1, 65535))), field("service", Copy(Text(253)))],
    otherwise: Refusal::UnknownField,
};

/// The kubelet of the executor sends these: another host than the Pod would be one of the executor's network.
const HTTP_GET: Record = Record {
    fields: &[
        field("host", Reject(Refusal::HostAccess)),
        field("httpHeaders", Copy(List(32, &Object(&HEADER)))),
        field("path", Copy(Text(2048))),
        field("port", Copy(Port)),
        field("scheme", Copy(Choice(&["HTTP", "HTTPS"]))),
    ],
    otherwise: Refusal::UnknownField,
};

const HEADER: Record = Record {
    fields: &[field("name", Copy(Text(253))), field("value", Copy(Text(4096)))],
    otherwise: Refusal::UnknownField,
};

const TCP_SOCKET: Record = Record {
    fields: &[field("host", Reject(Refusal::HostAccess)), field("port", Copy(Port))],
    otherwise: Refusal::UnknownField,
};

const SLEEP: Record = Record {
    fields: &[field("seconds", Copy(Integer(0, SECONDS)))],
    otherwise: Refusal::UnknownField,
};

/// The security context of a container. Checked against the executor's Pod Security Standard, too.
const SECURITY: Record = Record {
    fields: &[
        field("allowPrivilegeEscalation", CopyFalse(Some(Refusal::PodSecurity))),
        field("appArmorProfile", Copy(Object(&LOCAL_PROFILE))),
        field("capabilities", Copy(Object(&CAPABILITIES))),
        field("privileged", Reject(Refusal::PodSecurity)),
        field("procMount", RejectUnless("Default", Refusal::PodSecurity)),
        field("readOnlyRootFilesystem", Copy(Bool)),
        field("runAsGroup", Copy(Integer(0, ID))),
        field("runAsNonRoot", Copy(Bool)),
        field("runAsUser", Copy(Integer(0, ID))),
        field("seLinuxOptions", Copy(Object(&SE_LINUX))),
        field("seccompProfile", Copy(Object(&LOCAL_PROFILE))),
        field("windowsOptions", Reject(Refusal::PodSecurity)),
    ],
    otherwise: Refusal::UnknownField,
};

const CAPABILITIES: Record = Record {
    fields: &[
        // What may be added depends on the Pod Security Standard.
        field("add", Copy(List(64, &Text(63)))),
        field("drop", Copy(List(64, &Text(63)))),
    ],
    otherwise: Refusal::UnknownField,
};
