//! Decoding only what is kept: the [`wire!`](crate::wire) macro.
//!
//! An object goes through three sizes: JSON text, a `wire!` struct that lives while one event is
//! handled, and the [`Tracked`](crate::Tracked) content that is kept. Fields that are not named,
//! and `managedFields` above all, are skipped in the text and never allocated.
//!
//! A field that does not decode must not fail a whole list (kube issue 774), so fields are first
//! cut out as text, then decoded one by one. A failure is marked in the metadata, and the source
//! isolates the object.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Starts the mark of a field that did not decode. It is kept in `selfLink`, which API servers no
/// longer send (since 1.20) and lean metadata never reads: nothing else can put it there.
const DEFECT: &str = "defect: ";

/// The part of the metadata that is read.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LeanMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

impl From<LeanMeta> for ObjectMeta {
    fn from(meta: LeanMeta) -> Self {
        Self {
            name: meta.name,
            namespace: meta.namespace,
            uid: meta.uid,
            resource_version: meta.resource_version,
            generation: meta.generation,
            creation_timestamp: meta.creation_timestamp,
            deletion_timestamp: meta.deletion_timestamp,
            deletion_grace_period_seconds: meta.deletion_grace_period_seconds,
            labels: meta.labels,
            annotations: meta.annotations,
            finalizers: meta.finalizers,
            owner_references: meta.owner_references,
            ..Self::default()
        }
    }
}

/// An object cut into metadata and the text of the named fields.
#[doc(hidden)]
pub struct Cut<const N: usize> {
    pub metadata: ObjectMeta,
    pub fields: [Option<Box<RawValue>>; N],
}

impl<const N: usize> Cut<N> {
    /// Cuts out the fields with these names, given in Rust's spelling.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
        names: [&'static str; N],
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CutVisitor(names))
    }

    /// Decodes the field at `at`; absent, `null` and undecodable give the default.
    pub fn take<T: DeserializeOwned + Default>(&mut self, at: usize, name: &str) -> T {
        let Some(text) = self.fields[at].take() else { return T::default() };
        serde_json::from_str(text.get()).unwrap_or_else(|error| {
            let text = error.to_string();
            // Where it is depends on the order of fields, and no user has that text.
            let reason = text.rsplit_once(" at line ").map_or(&*text, |(reason, _)| reason);
            self.metadata.self_link = Some(format!("{DEFECT}{name}: {reason}"));
            T::default()
        })
    }
}

/// What did not decode, if anything.
pub(crate) fn defect(meta: &ObjectMeta) -> Option<&str> {
    meta.self_link.as_deref()?.strip_prefix(DEFECT)
}

struct CutVisitor<const N: usize>([&'static str; N]);

enum Key {
    Metadata,
    Field(usize),
    Other,
}

impl<'de, const N: usize> DeserializeSeed<'de> for &CutVisitor<N> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(KeyVisitor(&self.0))
    }
}

struct KeyVisitor<'a>(&'a [&'static str]);

impl Visitor<'_> for KeyVisitor<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        if key == "metadata" {
            return Ok(Key::Metadata);
        }
        Ok(self.0.iter().position(|name| is_camel(name, key)).map_or(Key::Other, Key::Field))
    }
}

/// Whether `key` is the camel-case spelling of `name`.
fn is_camel(name: &str, key: &str) -> bool {
    let mut key = key.bytes();
    let mut raise = false;
    for byte in name.trim_start_matches("r#").bytes() {
        if byte == b'_' {
            raise = true;
            continue;
        }
        let expected = if raise { byte.to_ascii_uppercase() } else { byte };
        if key.next() != Some(expected) {
            return false;
        }
        raise = false;
    }
    key.next().is_none()
}

impl<'de, const N: usize> Visitor<'de> for CutVisitor<N> {
    type Value = Cut<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an API object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cut<N>, A::Error> {
        let mut metadata = LeanMeta::default();
        let mut fields = [const { None }; N];
        while let Some(key) = map.next_key_seed(&self)? {
            match key {
                Key::Metadata => metadata = map.next_value()?,
                Key::Field(at) => fields[at] = map.next_value()?,
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Cut { metadata: metadata.into(), fields })
    }
}

/// Declares what is decoded of a kind: its metadata without `managedFields`, and the named
/// top-level fields. Group, version, kind, plural and scope are those of an existing type.
///
/// ```
/// use k8s_openapi::api::core::v1::{Namespace, Service, ServiceSpec};
/// fleet_accumulator::wire! {
///     /// A Service as read from the API server.
///     pub struct ServiceWire as Service { spec: Option<ServiceSpec> }
/// }
/// fleet_accumulator::wire! {
///     /// Of a Namespace the server is asked for the metadata only.
///     pub struct NamespaceWire as metadata of Namespace {}
/// }
/// ```
///
/// Field types need `DeserializeOwned + Default + Clone + Debug`; an absent field is the default,
/// and so is one that does not decode, in which case the accumulator isolates the object.
#[macro_export]
macro_rules! wire {
    ($(#[$meta:meta])* $vis:vis struct $name:ident as metadata of $kind:ty {}) => {
        $crate::wire!(@struct [$(#[$meta])*] $vis $name, $kind, true, {});
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident as $kind:ty { $($fields:tt)* }) => {
        $crate::wire!(@struct [$(#[$meta])*] $vis $name, $kind, false, { $($fields)* });
    };
    (@struct [$($meta:tt)*] $vis:vis $name:ident, $kind:ty, $metadata_only:literal,
        { $($(#[$field_meta:meta])* $field:ident : $type:ty),* $(,)? }) => {
        $($meta)*
        #[derive(Clone, Debug, Default)]
        $vis struct $name {
            /// Metadata without `managedFields`.
            pub metadata: $crate::macros::ObjectMeta,
            $(
                $(#[$field_meta])*
                #[allow(missing_docs, reason = "the field of the API object of the same name")]
                pub $field: $type,
            )*
        }

        impl<'de> $crate::macros::Deserialize<'de> for $name {
            fn deserialize<D: $crate::macros::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                #[allow(unused_mut, unused_variables, reason = "there may be no field")]
                let mut cut = $crate::macros::Cut::deserialize(
                    deserializer,
                    [$(::std::stringify!($field)),*],
                )?;
                #[allow(unused_mut, unused_variables, reason = "there may be no field")]
                let mut at = 0..;
                $(
                    let $field = cut.take(
                        at.next().expect("the range has no end"),
                        ::std::stringify!($field),
                    );
                )*
                ::std::result::Result::Ok(Self { metadata: cut.metadata, $($field),* })
            }
        }

        impl $crate::macros::Resource for $name {
            type DynamicType = ();
            type Scope = <$kind as $crate::macros::Resource>::Scope;

            fn kind(_: &()) -> ::std::borrow::Cow<'_, str> {
                <$kind as $crate::macros::Resource>::kind(&())
            }

            fn group(_: &()) -> ::std::borrow::Cow<'_, str> {
                <$kind as $crate::macros::Resource>::group(&())
            }

            fn version(_: &()) -> ::std::borrow::Cow<'_, str> {
                <$kind as $crate::macros::Resource>::version(&())
            }

            fn plural(_: &()) -> ::std::borrow::Cow<'_, str> {
                <$kind as $crate::macros::Resource>::plural(&())
            }

            fn metadata_api() -> bool {
                $metadata_only
            }

            fn meta(&self) -> &$crate::macros::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut $crate::macros::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Namespace, Service, ServiceSpec, ServiceStatus};
    use kube::Resource;
    use serde_json::json;

    use super::*;

    crate::wire! {
        /// A Service.
        pub(crate) struct ServiceWire as Service {
            spec: Option<ServiceSpec>,
            status: Option<ServiceStatus>,
        }
    }

    crate::wire! {
        pub(crate) struct NamespaceWire as metadata of Namespace {}
    }

    crate::wire! {
        pub(crate) struct ImportWire as Service {
            endpoint_slice_reference: Option<String>,
            r#type: String,
        }
    }

    #[test]
    fn only_what_is_named_is_decoded() {
        let text = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "shop", "namespace": "team", "uid": "u", "resourceVersion": "7",
                "generation": 2, "creationTimestamp": "2026-01-02T03:04:05Z",
                "labels": {"app": "shop"}, "annotations": {"a": "b"}, "finalizers": ["f"],
                "selfLink": "defect: forged",
                "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
            },
            "spec": {"clusterIP": "10.0.0.1"}, "status": null, "other": [1, {"deep": true}]
        })
        .to_string();
        let wire: ServiceWire = serde_json::from_str(&text).unwrap();
        assert_eq!(wire.metadata.name.as_deref(), Some("shop"));
        assert_eq!(wire.metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(wire.metadata.generation, Some(2));
        assert_eq!(wire.metadata.finalizers.as_deref(), Some(&["f".to_owned()][..]));
        assert!(wire.metadata.managed_fields.is_none());
        assert!(defect(&wire.metadata).is_none());
        assert_eq!(wire.spec.unwrap().cluster_ip.as_deref(), Some("10.0.0.1"));
        assert!(wire.status.is_none());
    }

    #[test]
    fn a_field_that_does_not_decode_is_marked_and_fails_nothing_else() {
        let list = json!({
            "apiVersion": "v1", "kind": "ServiceList", "metadata": {"resourceVersion": "9"},
            "items": [
                {"metadata": {"name": "bad"}, "spec": {"ports": "none"}},
                {"metadata": {"name": "good"}, "spec": {"clusterIP": "10.0.0.1"}}
            ]
        });
        // As text, the way kube reads lists.
        let list: kube::core::ObjectList<ServiceWire> =
            serde_json::from_str(&list.to_string()).unwrap();
        let [bad, good] = &list.items[..] else { panic!("two items") };
        assert!(defect(&bad.metadata).is_some_and(|defect| defect.starts_with("spec: ")));
        assert!(defect(&good.metadata).is_none());
        assert!(good.spec.is_some());
    }

    /// What was read of an object does not depend on the order in which its fields come.
    #[test]
    fn a_defect_is_the_same_wherever_it_is() {
        let read = |spec: &str| {
            let text = format!(r#"{{"metadata": {{"name": "a"}}, "spec": {spec}}}"#);
            let wire: ServiceWire = serde_json::from_str(&text).unwrap();
            defect(&wire.metadata).unwrap().to_owned()
        };
        let first = read(r#"{"clusterIP": "10.0.0.1", "ports": " at line 3"}"#);
        assert_eq!(first, read(r#"{"ports": " at line 3", "clusterIP": "10.0.0.1"}"#));
        assert!(first.contains("\" at line 3\""), "{first}");
    }

    #[test]
    fn a_watch_event_decodes_as_the_api_server_writes_it() {
        // The type comes first, so that the object is read where it stands. After a detour through
        // serde's buffer its fields could not be cut out as text.
        let text = r#"{"type":"ADDED","object":{"metadata":{"name":"a"},"spec":{}}}"#;
        let event: kube::core::WatchEvent<ServiceWire> = serde_json::from_str(text).unwrap();
        let kube::core::WatchEvent::Added(wire) = event else { panic!("another event") };
        assert_eq!(wire.metadata.name.as_deref(), Some("a"));
        assert!(wire.spec.is_some());
    }

    #[test]
    fn the_kind_is_that_of_the_type() {
        assert_eq!(ServiceWire::url_path(&(), Some("team")), Service::url_path(&(), Some("team")));
        assert!(!ServiceWire::metadata_api());
        assert!(NamespaceWire::metadata_api());
    }

    #[test]
    fn fields_have_their_spelling_in_json() {
        let text = r#"{"metadata":{},"endpointSliceReference":"x","type":"y","endpoint":1}"#;
        let wire: ImportWire = serde_json::from_str(text).unwrap();
        assert_eq!(wire.endpoint_slice_reference.as_deref(), Some("x"));
        assert_eq!(wire.r#type, "y");
    }
}
