//! The feed of a real API server.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::Duration;

use fleet_api::ObjectName;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use super::discovery::discover;
use super::feed::{Discovered, Events, Feed, Newest, ReadOptions};
use super::list_watch;
use super::newest;
use super::request::get;
use super::server::Server;
use super::spec::SourceSpec;
use super::wire_kind::WireKind;
use crate::ResourceVersion;

/// No namespace is longer: API servers accept 3 MB.
const IDENTITY_BYTES: u64 = 4 << 20;

/// The feed of a real API server.
pub(crate) struct KubeFeed<W> {
    spec: SourceSpec,
    kind: WireKind,
    server: Server,
    wire: PhantomData<fn() -> W>,
}

impl<W: Resource<DynamicType = ()>> KubeFeed<W> {
    pub(crate) fn new(spec: SourceSpec) -> Self {
        Self { spec, kind: WireKind::of::<W>(), server: Server::default(), wire: PhantomData }
    }
}

impl<W> Feed<W> for KubeFeed<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    fn open(&mut self, options: &ReadOptions, from: Option<&ResourceVersion>) -> Events<W> {
        list_watch::open(&self.spec, options, from, &self.server)
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(discover(&self.spec.client, &self.kind))
    }

    fn newest(
        &mut self,
        object: Option<ObjectName>,
    ) -> BoxFuture<'_, kube::Result<Option<Newest>>> {
        Box::pin(async move {
            newest::newest(&self.spec, &self.kind, &self.server, object.as_ref()).await
        })
    }

    fn ends_after(&self) -> Duration {
        Duration::from_secs(list_watch::watch_timeout(&self.spec).into())
    }

    fn identity(&mut self) -> BoxFuture<'_, Option<String>> {
        if !self.spec.may_identify {
            return Box::pin(std::future::ready(None));
        }
        Box::pin(identity(self.spec.client.clone()))
    }
}

/// The uid of a namespace that each cluster has.
async fn identity(client: Client) -> Option<String> {
    let namespace = get(&client, "/api/v1/namespaces/kube-system", IDENTITY_BYTES).await;
    let namespace: PartialObjectMeta<Namespace> = namespace.ok()?;
    namespace.metadata.uid
}
