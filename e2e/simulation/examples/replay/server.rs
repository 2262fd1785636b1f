//! A model API server that sends what changed, as the text that a real one sends.

use std::collections::BTreeMap;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

/// One event of a watch.
pub(crate) struct News {
    pub(crate) kind: ResourceKind,
    pub(crate) namespace: String,
    pub(crate) text: String,
}

pub(crate) struct Server {
    pub(crate) model: ModelServer,
    told: BTreeMap<(ResourceKind, ObjectName), Value>,
}

impl Server {
    pub(crate) fn new(cluster: ClusterId, namespaces: &[&str]) -> Self {
        let mut model = ModelServer::new(cluster);
        for namespace in namespaces {
            model.create(kinds::NAMESPACE, &ObjectName::cluster(*namespace), json!({})).unwrap();
        }
        Self { model, told: BTreeMap::new() }
    }

    /// Everything of these kinds that changed since it was asked for last.
    pub(crate) fn news(&mut self, kinds: &[ResourceKind]) -> Vec<News> {
        let mut news = Vec::new();
        for kind in kinds {
            for name in self.model.names(*kind) {
                let object = self.model.get(*kind, &name).unwrap();
                let before = self.told.insert((*kind, name.clone()), object.clone());
                match before {
                    None => news.push(event("ADDED", *kind, &name, object)),
                    Some(before) if before != *object => {
                        news.push(event("MODIFIED", *kind, &name, object));
                    }
                    Some(_) => {}
                }
            }
        }
        let gone =
            self.told.extract_if(.., |(kind, name), _| self.model.get(*kind, name).is_none());
        news.extend(gone.map(|((kind, name), last)| event("DELETED", kind, &name, &last)));
        news
    }
}

/// The type comes first: that is how API servers write it, and what decoding in place takes.
fn event(r#type: &str, kind: ResourceKind, name: &ObjectName, object: &Value) -> News {
    let text = format!(r#"{{"type":"{type}","object":{object}}}"#);
    News { kind, namespace: name.namespace.to_string(), text }
}
