//! What the code made by [`views!`](crate::views) and [`wire!`](crate::wire) needs, so that crates
//! that use them need no further dependency.

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
pub use kube::Resource;
pub use serde::{Deserialize, Deserializer};

pub use crate::snapshot::{AnyView, Views};
pub use crate::source::feeds::Feeds;
pub use crate::source::start::Start;
pub use crate::tracked::Tracked;
pub use crate::wire::Cut;

/// Declares a snapshot: a struct of views, one per source.
///
/// ```
/// # use fleet_accumulator::{Tracked, wire};
/// # use k8s_openapi::api::core::v1::{self, ServiceSpec};
/// # wire! { pub struct ServiceWire as v1::Service { spec: Option<ServiceSpec> } }
/// # #[derive(Debug, PartialEq)] pub struct Service;
/// # impl Tracked for Service {
/// #     const KIND: fleet_api::ResourceKind = fleet_api::kinds::SERVICE;
/// #     type Wire = ServiceWire;
/// #     type Index = ();
/// #     fn project(_: ServiceWire) -> Result<Self, String> { Ok(Self) }
/// #     fn index(&self, _: &fleet_api::ObjectName) -> Vec<()> { Vec::new() }
/// # }
/// fleet_accumulator::views! {
///     /// What the agent sees.
///     pub struct AgentSnapshot {
///         /// Services of the own cluster.
///         local services: Service,
///         /// May be missing or forbidden on the hub.
///         hub optional hub_services: Service,
///     }
/// }
/// use fleet_accumulator::{SourceSet, View};
/// let required = SourceSet::from([AgentSnapshot::services()]);
/// let snapshot = AgentSnapshot { services: View::of([]), ..Default::default() };
/// assert!(snapshot.services.bootstrapped());
/// ```
///
/// Each line is `cluster [optional] field: Content`; the field becomes a
/// [`View<Content>`](crate::View). For each field there is a function of the same name that
/// returns its [`SourceId`](crate::SourceId). The field `seq` counts publications.
#[macro_export]
macro_rules! views {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* }) => {
        $crate::views!(@munch [$(#[$meta])* $vis struct $name] [] [0] $($fields)*);
    };
    (@munch $head:tt [$($done:tt)*] [$at:expr]
        $(#[$meta:meta])* $cluster:ident optional $field:ident : $type:ty, $($rest:tt)*) => {
        $crate::views!(@munch $head
            [$($done)* { [$(#[$meta])*] $cluster true $field, $type, $at }] [$at + 1] $($rest)*);
    };
    (@munch $head:tt [$($done:tt)*] [$at:expr]
        $(#[$meta:meta])* $cluster:ident $field:ident : $type:ty, $($rest:tt)*) => {
        $crate::views!(@munch $head
            [$($done)* { [$(#[$meta])*] $cluster false $field, $type, $at }] [$at + 1] $($rest)*);
    };
    // The last line may lack its comma.
    (@munch $head:tt [$($done:tt)*] [$at:expr]
        $(#[$meta:meta])* $cluster:ident optional $field:ident : $type:ty) => {
        $crate::views!(@munch $head
            [$($done)* { [$(#[$meta])*] $cluster true $field, $type, $at }] [$at + 1]);
    };
    (@munch $head:tt [$($done:tt)*] [$at:expr]
        $(#[$meta:meta])* $cluster:ident $field:ident : $type:ty) => {
        $crate::views!(@munch $head
            [$($done)* { [$(#[$meta])*] $cluster false $field, $type, $at }] [$at + 1]);
    };
    (@cluster local) => { $crate::ClusterId::Local };
    (@cluster hub) => { $crate::ClusterId::Hub };
    (@munch [$(#[$meta:meta])* $vis:vis struct $name:ident]
        [$({ [$($field_meta:tt)*] $cluster:ident $optional:literal $field:ident, $type:ty, $at:expr })*]
        [$count:expr]) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        $vis struct $name {
            /// Number of publications before this one.
            pub seq: u64,
            $($($field_meta)* pub $field: $crate::View<$type>,)*
        }

        impl $name {
            $(
                #[doc = ::std::concat!("Source of the field `", ::std::stringify!($field), "`.")]
                #[allow(dead_code, reason = "generated for every field")]
                pub const fn $field() -> $crate::SourceId {
                    const ID: $crate::SourceId = $crate::SourceId::new($at);
                    ID
                }
            )*
        }

        impl $crate::Snapshot for $name {
            fn sources() -> &'static [$crate::SourceInfo] {
                const SOURCES: &[$crate::SourceInfo] = &[$(
                    $crate::SourceInfo {
                        id: $name::$field(),
                        field: ::std::stringify!($field),
                        cluster: $crate::views!(@cluster $cluster),
                        kind: <$type as $crate::macros::Tracked>::KIND,
                        optional: $optional,
                    },
                )*];
                SOURCES
            }

            fn view(
                &self,
                id: $crate::SourceId,
            ) -> ::std::option::Option<&dyn $crate::macros::AnyView> {
                $(
                    if id == Self::$field() {
                        return ::std::option::Option::Some(&self.$field);
                    }
                )*
                ::std::option::Option::None
            }

            fn seq(&self) -> u64 {
                self.seq
            }

            fn set_seq(&mut self, seq: u64) {
                self.seq = seq;
            }

            fn of(views: &impl $crate::macros::Views) -> Self {
                Self {
                    seq: 1,
                    $($field: views.view::<$type>(&Self::sources()[Self::$field().index()]),)*
                }
            }

            fn start(
                id: $crate::SourceId,
                feeds: &impl $crate::macros::Feeds,
                start: $crate::macros::Start<'_, Self>,
            ) {
                $(
                    if id == Self::$field() {
                        let source = &Self::sources()[id.index()];
                        let feed = feeds.feed::<$type>(source);
                        return start.source(source, feed, |snapshot| &mut snapshot.$field);
                    }
                )*
            }
        }
    };
}
