//! The fields of a Pod, and what becomes of each.

use super::*;

use Refusal::{
    DnsNotOffered, HostAccess, InteractiveContainer, InvalidValue, LimitExceeded, NotOffered,
    PodSecurity, ResourceClaims, ServiceAccountToken, UnknownField, UnsupportedField,
    UnsupportedVolume,
};

/// One container with these fields beside the ones that every Pod here has.
#[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
fn container(more: Value) -> Value {
    json!({ "containers": [more] })
}

#[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
pub(super) fn volume(kind: &str, content: Value) -> Value {
    json!({ "volumes": [{ "name": "v", kind: content }] })
}

/// These cross unchanged.
pub(super) fn copied() -> Vec<Value> {
    let probe = json!({
        "httpGet": {
            "path": "/", "port": "http", "scheme": "HTTP",
            "httpHeaders": [{ "name": "a", "value": "b" }],
        },
        "periodSeconds": 5, "failureThreshold": 3, "timeoutSeconds": 1, "successThreshold": 1,
        "initialDelaySeconds": 0, "terminationGracePeriodSeconds": 9,
    });
    vec![
        container(json!({ "command": ["/web"], "args": ["-v"], "workingDir": "/tmp" })),
        container(json!({ "ports": [{ "name": "http", "containerPort": 80, "protocol": "TCP" }] })),
        container(json!({ "resources": {
            "requests": { "cpu": "100m", "memory": "64Mi" }, "limits": { "memory": 1 },
        } })),
        container(
            json!({ "livenessProbe": probe, "readinessProbe": probe, "startupProbe": probe }),
        ),
        container(json!({ "livenessProbe": { "exec": { "command": ["true"] } } })),
        container(json!({ "livenessProbe": { "tcpSocket": { "port": 80 } } })),
        container(json!({ "livenessProbe": { "grpc": { "port": 80, "service": "s" } } })),
        container(json!({ "lifecycle": {
            "preStop": { "sleep": { "seconds": 5 } },
            "postStart": { "exec": { "command": ["true"] } },
        } })),
        container(json!({
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        })),
        container(json!({ "env": [{ "name": "A", "value": "$(B)" }] })),
        container(json!({ "env": [
            { "name": "A", "valueFrom": { "configMapKeyRef": { "name": "c", "key": "k" } } },
            { "name": "B", "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } } },
            { "name": "C", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
            { "name": "D", "valueFrom": { "resourceFieldRef": { "resource": "limits.cpu" } } },
        ] })),
        container(json!({ "envFrom": [
            { "prefix": "P_", "configMapRef": { "name": "c", "optional": true } },
        ] })),
        container(json!({ "securityContext": {
            "capabilities": { "add": ["NET_BIND_SERVICE"] },
            "readOnlyRootFilesystem": true, "runAsUser": 1000, "runAsGroup": 1000,
            "seccompProfile": { "type": "Localhost", "localhostProfile": "p.json" },
            "appArmorProfile": { "type": "RuntimeDefault" },
        } })),
        json!({ "initContainers": [{
            "name": "side", "image": "side:1", "restartPolicy": "Always",
            "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] },
            },
        }] }),
        volume("emptyDir", json!({ "medium": "Memory", "sizeLimit": "1Mi" })),
        volume(
            "configMap",
            json!({
                "name": "c", "defaultMode": 420, "optional": true,
                "items": [{ "key": "k", "path": "p", "mode": 256 }],
            }),
        ),
        volume(
            "downwardAPI",
            json!({ "items": [
            { "path": "labels", "fieldRef": { "fieldPath": "metadata.labels" } },
        ] }),
        ),
        volume(
            "projected",
            json!({ "defaultMode": 420, "sources": [
            { "configMap": { "name": "c" } },
            { "downwardAPI": { "items": [
                { "path": "cpu", "resourceFieldRef": { "containerName": "web", "resource": "limits.cpu" } },
            ] } },
        ] }),
        ),
        json!({ "hostUsers": false }),
        json!({ "securityContext": {
            "fsGroup": 1, "supplementalGroups": [2], "fsGroupChangePolicy": "Always",
            "supplementalGroupsPolicy": "Strict", "runAsUser": 1000,
        } }),
        json!({ "restartPolicy": "Never", "activeDeadlineSeconds": 5 }),
        json!({ "terminationGracePeriodSeconds": 0 }),
        json!({ "shareProcessNamespace": true }),
        json!({ "hostAliases": [{ "ip": "10.0.0.1", "hostnames": ["a"] }] }),
        json!({ "dnsPolicy": "Default", "dnsConfig": {
            "searches": ["a.b"], "options": [{ "name": "ndots", "value": "2" }],
        } }),
        json!({ "os": { "name": "linux" } }),
    ]
}

/// These stay behind, and the Pod crosses without them.
pub(super) fn left_out() -> Vec<(&'static str, Value)> {
    vec![
        ("spec.nodeName", json!({ "nodeName": "fleet-west" })),
        ("spec.nodeSelector", json!({ "nodeSelector": { "a": "b" } })),
        ("spec.affinity", json!({ "affinity": { "nodeAffinity": {} } })),
        ("spec.topologySpreadConstraints", json!({ "topologySpreadConstraints": [{}] })),
        ("spec.schedulerName", json!({ "schedulerName": "default-scheduler" })),
        ("spec.priorityClassName", json!({ "priorityClassName": "system-node-critical" })),
        ("spec.priority", json!({ "priority": 2_000_001_000 })),
        ("spec.preemptionPolicy", json!({ "preemptionPolicy": "PreemptLowerPriority" })),
        ("spec.runtimeClassName", json!({ "runtimeClassName": "gvisor" })),
        ("spec.overhead", json!({ "overhead": { "cpu": "1" } })),
        ("spec.tolerations", json!({ "tolerations": [{ "operator": "Exists" }] })),
        ("spec.schedulingGates", json!({ "schedulingGates": [{ "name": "a" }] })),
        ("spec.readinessGates", json!({ "readinessGates": [{ "conditionType": "a/b" }] })),
        ("spec.serviceAccountName", json!({ "serviceAccountName": "admin" })),
        ("spec.serviceAccount", json!({ "serviceAccount": "admin" })),
        ("spec.automountServiceAccountToken", json!({ "automountServiceAccountToken": true })),
        ("spec.enableServiceLinks", json!({ "enableServiceLinks": true })),
        ("spec.ephemeralContainers", json!({ "ephemeralContainers": [{ "name": "d" }] })),
        ("spec.subdomain", json!({ "subdomain": "web" })),
        ("spec.hostname", json!({ "hostname": "web" })),
        ("spec.setHostnameAsFQDN", json!({ "setHostnameAsFQDN": true })),
        ("spec.dnsPolicy", json!({ "dnsPolicy": "ClusterFirst" })),
        ("spec.hostNetwork", json!({ "hostNetwork": false })),
        ("spec.hostPID", json!({ "hostPID": false })),
        ("spec.hostIPC", json!({ "hostIPC": false })),
        ("spec.hostUsers", json!({ "hostUsers": true })),
        ("spec.containers[0].resizePolicy", container(json!({ "resizePolicy": [{}] }))),
        ("spec.containers[0].stdin", container(json!({ "stdin": false }))),
        (
            "spec.containers[0].ports[0].hostPort",
            container(json!({
                "ports": [{ "containerPort": 80, "hostPort": 0 }],
            })),
        ),
        (
            "spec.containers[0].securityContext.privileged",
            container(json!({
                "securityContext": { "privileged": false },
            })),
        ),
        (
            "spec.containers[0].securityContext.procMount",
            container(json!({
                "securityContext": { "procMount": "Default" },
            })),
        ),
        (
            "spec.securityContext.seLinuxOptions.level",
            json!({
                "securityContext": { "seLinuxOptions": { "level": "s0:c1,c2" } },
            }),
        ),
        ("spec.securityContext.sysctls", json!({ "securityContext": { "sysctls": [] } })),
    ]
}

/// These refuse the Pod, by this field and for this reason.
pub(super) fn rejected() -> Vec<(&'static str, Refusal, Value)> {
    let mut all = vec![
        ("spec.hostNetwork", HostAccess, json!({ "hostNetwork": true })),
        ("spec.hostPID", HostAccess, json!({ "hostPID": true })),
        ("spec.hostIPC", HostAccess, json!({ "hostIPC": true })),
        ("spec.hostnameOverride", UnsupportedField, json!({ "hostnameOverride": "h" })),
        ("spec.resourceClaims", ResourceClaims, json!({ "resourceClaims": [{ "name": "g" }] })),
        ("spec.resources", UnsupportedField, json!({ "resources": { "limits": { "cpu": "1" } } })),
        ("spec.os.name", InvalidValue, json!({ "os": { "name": "windows" } })),
        ("spec.dnsPolicy", DnsNotOffered, json!({ "dnsPolicy": "None" })),
        ("spec.dnsPolicy", InvalidValue, json!({ "dnsPolicy": "ClusterFirstWithHostNet" })),
        (
            "spec.dnsConfig.nameservers",
            DnsNotOffered,
            json!({
                "dnsConfig": { "nameservers": ["10.0.0.10"] },
            }),
        ),
        ("spec.fieldOfTomorrow", UnknownField, json!({ "fieldOfTomorrow": false })),
        ("spec.containers", InvalidValue, json!({ "containers": [] })),
        ("spec.restartPolicy", InvalidValue, json!({ "restartPolicy": "Sometimes" })),
        (
            "spec.securityContext.sysctls",
            PodSecurity,
            json!({
                "securityContext": { "sysctls": [{ "name": "a", "value": "1" }] },
            }),
        ),
        (
            "spec.securityContext.windowsOptions",
            PodSecurity,
            json!({
                "securityContext": { "windowsOptions": { "hostProcess": true } },
            }),
        ),
        (
            "spec.securityContext.seLinuxOptions.type",
            PodSecurity,
            json!({
                "securityContext": { "seLinuxOptions": { "type": "spc_t" } },
            }),
        ),
        (
            "spec.securityContext.seccompProfile.type",
            PodSecurity,
            json!({
                "securityContext": { "seccompProfile": { "type": "Unconfined" } },
            }),
        ),
        (
            "spec.securityContext.appArmorProfile.type",
            PodSecurity,
            json!({
                "securityContext": { "appArmorProfile": { "type": "Unconfined" } },
            }),
        ),
        (
            "spec.initContainers[0].restartPolicy",
            InvalidValue,
            json!({
                "initContainers": [{ "name": "i", "restartPolicy": "Never" }],
            }),
        ),
        (
            "spec.terminationGracePeriodSeconds",
            LimitExceeded,
            json!({
                "terminationGracePeriodSeconds": 604_801,
            }),
        ),
        ("spec.activeDeadlineSeconds", InvalidValue, json!({ "activeDeadlineSeconds": "5" })),
    ];
    all.extend(rejected_volumes());
    all.extend(rejected_containers());
    all
}

fn rejected_volumes() -> Vec<(&'static str, Refusal, Value)> {
    let other = [
        "hostPath",
        "persistentVolumeClaim",
        "csi",
        "ephemeral",
        "nfs",
        "iscsi",
        "image",
        "rbd",
        "gitRepo",
        "azureDisk",
        "flexVolume",
        "cephfs",
        "portworxVolume",
        "volumeOfTomorrow",
    ];
    let paths = [
        "spec.volumes[0].hostPath",
        "spec.volumes[0].persistentVolumeClaim",
        "spec.volumes[0].csi",
        "spec.volumes[0].ephemeral",
        "spec.volumes[0].nfs",
        "spec.volumes[0].iscsi",
        "spec.volumes[0].image",
        "spec.volumes[0].rbd",
        "spec.volumes[0].gitRepo",
        "spec.volumes[0].azureDisk",
        "spec.volumes[0].flexVolume",
        "spec.volumes[0].cephfs",
        "spec.volumes[0].portworxVolume",
        "spec.volumes[0].volumeOfTomorrow",
    ];
    let mut all: Vec<_> = paths
        .into_iter()
        .zip(other)
        .map(|(path, kind)| (path, UnsupportedVolume, volume(kind, json!({ "path": "/" }))))
        .collect();
    let projected = |source: Value| volume("projected", json!({ "sources": [source] }));
    all.extend([
        (
            "spec.volumes[0].projected.sources[0].serviceAccountToken",
            ServiceAccountToken,
            projected(json!({ "serviceAccountToken": { "path": "token" } })),
        ),
        (
            "spec.volumes[0].projected.sources[0].clusterTrustBundle",
            UnsupportedVolume,
            projected(json!({ "clusterTrustBundle": { "path": "ca" } })),
        ),
        (
            "spec.volumes[0].projected.sources[0].podCertificate",
            UnsupportedVolume,
            projected(json!({ "podCertificate": { "keyType": "ED25519" } })),
        ),
        (
            "spec.volumes[0].configMap.name",
            InvalidValue,
            volume("configMap", json!({ "name": "../c" })),
        ),
        (
            "spec.volumes[0].emptyDir.medium",
            InvalidValue,
            volume("emptyDir", json!({ "medium": "HugePages" })),
        ),
        ("spec.volumes[0]", UnsupportedVolume, json!({ "volumes": [{ "name": "v" }] })),
        (
            "spec.containers[0].volumeDevices",
            UnsupportedVolume,
            container(json!({ "volumeDevices": [{ "name": "v" }] })),
        ),
        (
            "spec.containers[0].volumeMounts[0].mountPropagation",
            HostAccess,
            container(json!({ "volumeMounts": [
                { "name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional" },
            ] })),
        ),
    ]);
    all
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn rejected_containers() -> Vec<(&'static str, Refusal, Value)> {
    vec![
        (
            "spec.containers[0].ports[0].hostPort",
            HostAccess,
            container(json!({
                "ports": [{ "containerPort": 80, "hostPort": 80 }],
            })),
        ),
        (
            "spec.containers[0].ports[0].hostIP",
            HostAccess,
            container(json!({
                "ports": [{ "containerPort": 80, "hostIP": "10.0.0.1" }],
            })),
        ),
        (
            "spec.containers[0].ports[0].containerPort",
            LimitExceeded,
            container(json!({
                "ports": [{ "containerPort": 65536 }],
            })),
        ),
        ("spec.containers[0].stdin", InteractiveContainer, container(json!({ "stdin": true }))),
        ("spec.containers[0].tty", InteractiveContainer, container(json!({ "tty": true }))),
        (
            "spec.containers[0].restartPolicy",
            UnsupportedField,
            container(json!({
                "restartPolicy": "Always",
            })),
        ),
        (
            "spec.containers[0].livenessProbe.httpGet.host",
            HostAccess,
            container(json!({
                "livenessProbe": { "httpGet": { "host": "169.254.169.254", "port": 80 } },
            })),
        ),
        (
            "spec.containers[0].startupProbe.tcpSocket.host",
            HostAccess,
            container(json!({
                "startupProbe": { "tcpSocket": { "host": "10.0.0.1", "port": 80 } },
            })),
        ),
        (
            "spec.containers[0].lifecycle.preStop.httpGet.host",
            HostAccess,
            container(json!({
                "lifecycle": { "preStop": { "httpGet": { "host": "10.0.0.1", "port": 80 } } },
            })),
        ),
        (
            "spec.containers[0].lifecycle.stopSignal",
            UnsupportedField,
            container(json!({
                "lifecycle": { "stopSignal": "SIGKILL" },
            })),
        ),
        (
            "spec.containers[0].resources.limits",
            NotOffered,
            container(json!({ "resources": { "limits": { "example.com/gpu": 1 } } })),
        ),
        (
            "spec.containers[0].resources.claims",
            ResourceClaims,
            container(json!({
                "resources": { "claims": [{ "name": "g" }] },
            })),
        ),
        (
            "spec.containers[0].securityContext.privileged",
            PodSecurity,
            container(json!({
                "securityContext": { "privileged": true },
            })),
        ),
        (
            "spec.containers[0].securityContext.allowPrivilegeEscalation",
            PodSecurity,
            container(json!({ "securityContext": { "allowPrivilegeEscalation": true } })),
        ),
        (
            "spec.containers[0].securityContext.procMount",
            PodSecurity,
            container(json!({
                "securityContext": { "procMount": "Unmasked" },
            })),
        ),
        (
            "spec.containers[0].securityContext.capabilities.add",
            PodSecurity,
            container(json!({
                "securityContext": { "capabilities": { "add": ["SYS_ADMIN"] } },
            })),
        ),
        (
            "spec.containers[0].env[0].valueFrom.fileKeyRef",
            UnsupportedField,
            container(json!({
                "env": [{ "name": "A", "valueFrom": { "fileKeyRef": { "key": "k" } } }],
            })),
        ),
        (
            "spec.containers[0].env[0].valueFrom.secretKeyRef.tomorrow",
            UnknownField,
            container(json!({ "env": [{ "name": "A", "valueFrom": {
                "secretKeyRef": { "name": "s", "key": "k", "tomorrow": 1 },
            } }] })),
        ),
        ("spec.containers[0].image", LimitExceeded, container(json!({ "image": "i".repeat(513) }))),
        ("spec.containers[0].image", InvalidValue, container(json!({ "image": 5 }))),
        ("spec.containers[0].args", LimitExceeded, container(json!({ "args": vec!["a"; 129] }))),
        ("spec.containers[0].args", InvalidValue, container(json!({ "args": { "0": "a" } }))),
        (
            "spec.containers[0].lifecycle.preStop.httpGet.port",
            InvalidValue,
            container(json!({
                "lifecycle": { "preStop": { "httpGet": { "port": 0 } } },
            })),
        ),
    ]
}
