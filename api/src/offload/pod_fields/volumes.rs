//! Fields of volumes.

use super::containers::RESOURCE_FIELD;
use super::rule::Rule::{Copy, Reject};
use super::rule::Shape::{
    Bool, Choice, ConfigMapName, Integer, List, Object, Quantity, SecretName, Text,
};
use super::rule::{Record, field};
use crate::offload::Refusal;

/// Highest mode of a file.
const MODE: i64 = 0o777;

/// A volume. Any field but these is another kind of volume.
pub const VOLUME: Record = Record {
    fields: &[
        field("configMap", Copy(Object(&CONFIG_MAP))),
        field("downwardAPI", Copy(Object(&DOWNWARD))),
        field("emptyDir", Copy(Object(&EMPTY_DIR))),
        field("name", Copy(Text(63))),
        field("projected", Copy(Object(&PROJECTED))),
        field("secret", Copy(Object(&SECRET))),
    ],
    otherwise: Refusal::UnsupportedVolume,
};

const EMPTY_DIR: Record = Record {
    fields: &[field("medium", Copy(Choice(&["", "Memory"]))), field("sizeLimit", Copy(Quantity))],
    otherwise: Refusal::UnknownField,
};

const CONFIG_MAP: Record = Record {
    fields: &[
        field("defaultMode", Copy(Integer(0, MODE))),
        field("items", Copy(List(64, &Object(&KEY_TO_PATH)))),
        field("name", Copy(ConfigMapName)),
        field("optional", Copy(Bool)),
    ],
    otherwise: Refusal::UnknownField,
};

const SECRET: Record = Record {
    fields: &[
        field("defaultMode", Copy(Integer(0, MODE))),
        field("items", Copy(List(64, &Object(&KEY_TO_PATH)))),
        field("optional", Copy(Bool)),
        field("secretName", Copy(SecretName)),
    ],
    otherwise: Refusal::UnknownField,
};

const PROJECTED_SECRET: Record = Record {
    fields: &[
        field("items", Copy(List(64, &Object(&KEY_TO_PATH)))),
        field("name", Copy(SecretName)),
        field("optional", Copy(Bool)),
    ],
    otherwise: Refusal::UnknownField,
};

const KEY_TO_PATH: Record = Record {
    fields: &[
        field("key", Copy(Text(253))),
        field("mode", Copy(Integer(0, MODE))),
        field("path", Copy(Text(1024))),
    ],
    otherwise: Refusal::UnknownField,
};

const DOWNWARD: Record = Record {
    fields: &[
        field("defaultMode", Copy(Integer(0, MODE))),
        field("items", Copy(List(64, &Object(&DOWNWARD_FILE)))),
    ],
    otherwise: Refusal::UnknownField,
};

/// A file with the labels, annotations or resources of the Pod, as it is in the cluster of the executor.
const DOWNWARD_FILE: Record = Record {
    fields: &[
        field("fieldRef", Copy(Object(&POD_FIELD))),
        field("mode", Copy(Integer(0, MODE))),
        field("path", Copy(Text(1024))),
        field("resourceFieldRef", Copy(Object(&RESOURCE_FIELD))),
    ],
    otherwise: Refusal::UnknownField,
};

const POD_FIELD: Record = Record {
    fields: &[field("apiVersion", Copy(Choice(&["v1"]))), field("fieldPath", Copy(Text(512)))],
    otherwise: Refusal::UnknownField,
};

const PROJECTED: Record = Record {
    fields: &[
        field("defaultMode", Copy(Integer(0, MODE))),
        field("sources", Copy(List(16, &Object(&SOURCE)))),
    ],
    otherwise: Refusal::UnknownField,
};

const SOURCE: Record = Record {
    fields: &[
        field("clusterTrustBundle", Reject(Refusal::UnsupportedVolume)),
        field("configMap", Copy(Object(&CONFIG_MAP_SOURCE))),
        field("downwardAPI", Copy(Object(&DOWNWARD_SOURCE))),
        field("podCertificate", Reject(Refusal::UnsupportedVolume)),
        field("secret", Copy(Object(&PROJECTED_SECRET))),
        field("serviceAccountToken", Reject(Refusal::ServiceAccountToken)),
    ],
    otherwise: Refusal::UnsupportedVolume,
};

const CONFIG_MAP_SOURCE: Record = Record {
    fields: &[
        field("items", Copy(List(64, &Object(&KEY_TO_PATH)))),
        field("name", Copy(ConfigMapName)),
        field("optional", Copy(Bool)),
    ],
    otherwise: Refusal::UnknownField,
};

const DOWNWARD_SOURCE: Record = Record {
    fields: &[field("items", Copy(List(64, &Object(&DOWNWARD_FILE))))],
    otherwise: Refusal::UnknownField,
};
