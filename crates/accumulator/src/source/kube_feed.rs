//! The feed of a real API server.

use std::fmt::Debug;
use std::marker::PhantomData;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::feed::{Discovered, Events, Feed, ReadOptions};
use super::list_watch;
use super::spec::SourceSpec;
use crate::ResourceVersion;

/// The feed of a real API server.
pub(crate) struct KubeFeed<W> {
    spec: SourceSpec,
    wire: PhantomData<fn() -> W>,
}

impl<W> KubeFeed<W> {
    pub(crate) fn new(spec: SourceSpec) -> Self {
        Self { spec, wire: PhantomData }
    }
}

impl<W> Feed<W> for KubeFeed<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    fn open(&mut self, options: &ReadOptions, from: Option<&ResourceVersion>) -> Events<W> {
        list_watch::open(&self.spec, options, from)
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        let client = self.spec.client.clone();
        Box::pin(async move {
            let version = W::api_version(&());
            let resources = if W::group(&()).is_empty() {
                client.list_core_api_resources(&version).await
            } else {
                client.list_api_group_resources(&version).await
            };
            let resources = match resources {
                Ok(list) => list.resources,
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    return Ok(Discovered::Absent);
                }
                Err(error) => return Err(error),
            };
            let plural = W::plural(&());
            let found = resources.iter().find(|resource| resource.name == plural);
            Ok(match found {
                None => Discovered::Absent,
                Some(resource) if resource.verbs.iter().any(|verb| verb == "create") => {
                    Discovered::Served
                }
                Some(_) => Discovered::Terminating,
            })
        })
    }

    fn identity(&mut self) -> BoxFuture<'_, Option<String>> {
        // Who may read one namespace only may not read this one.
        if self.spec.namespace.is_some() {
            return Box::pin(std::future::ready(None));
        }
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.spec.client.clone());
        Box::pin(async move { api.get("kube-system").await.ok()?.metadata.uid })
    }
}
