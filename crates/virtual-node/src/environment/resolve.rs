//! The resolution of a container's environment.

use std::collections::BTreeMap;

use fleet_api::offload::ConfigKind;
use serde_json::{Map, Value};

use super::expand::expand;
use super::services::{self, ServiceLink};
use crate::pod::{LocalPod, origin_value};

/// The content of a config map or Secret, by its keys.
pub type Texts = BTreeMap<String, String>;

/// What an environment is made of.
pub struct Sources<'a> {
    /// The Pod.
    pub pod: &'a LocalPod,
    /// Contents of config maps and Secrets of its namespace, as texts; `None` for one that does not exist.
    pub config: &'a dyn Fn(ConfigKind, &str) -> Option<Texts>,
    /// Services of its namespace.
    pub services: &'a [ServiceLink],
    /// The Service of the API server, which every Pod has.
    pub kubernetes: Option<&'a ServiceLink>,
}

/// What a variable is.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// A value.
    Value(String),
    /// A reference to what only the place where the Pod runs knows: its addresses, its node, its resources. It is handed on.
    Reference(Value),
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Resolved,
}

/// What users should know of, although the Pod starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// An optional config map or Secret does not exist.
    OptionalNotFound(ConfigKind, String),
    /// An optional key does not exist in it.
    OptionalKeyNotFound(ConfigKind, String, String),
    /// These keys, in order, are no names of variables, and are left out.
    InvalidNames(ConfigKind, String, Vec<String>),
}

impl Warning {
    /// Reason of its Event.
    pub fn reason(&self) -> String {
        match self {
            Self::OptionalNotFound(kind, _) => format!("Optional{}NotFound", kind.as_str()),
            Self::OptionalKeyNotFound(kind, ..) => format!("Optional{}KeyNotFound", kind.as_str()),
            Self::InvalidNames(..) => "InvalidEnvironmentVariableNames".to_owned(),
        }
    }
}

/// A config map, Secret or key that a Pod does not start without. Its appearance is a change that is reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingConfig {
    /// What is missing.
    pub kind: ConfigKind,
    /// Its name.
    pub name: String,
    /// The key in it, if it exists.
    pub key: Option<String>,
}

impl MissingConfig {
    /// Reason of its Event.
    pub fn reason(&self) -> String {
        let key = if self.key.is_some() { "Key" } else { "" };
        format!("Mandatory{}{key}NotFound", self.kind.as_str())
    }
}

/// The environment of a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// Its variables, each once, sorted by name: the same sources always give the same environment.
    pub variables: Vec<Variable>,
    /// What users should know of.
    pub warnings: Vec<Warning>,
}

/// The environment of a container.
///
/// # Errors
/// If something is missing that it does not start without.
pub fn resolve(
    container: &Map<String, Value>,
    sources: &Sources<'_>,
) -> Result<Environment, MissingConfig> {
    let links = service_variables(sources);
    let mut resolving = Resolving { found: BTreeMap::new(), warnings: Vec::new(), sources };
    for source in entries(container, "envFrom") {
        resolving.add_all(source)?;
    }
    for variable in entries(container, "env") {
        resolving.add(variable, &links)?;
    }
    let Resolving { mut found, warnings, .. } = resolving;
    for (name, value) in links {
        found.entry(name).or_insert(Resolved::Value(value));
    }
    let variables = found.into_iter().map(|(name, value)| Variable { name, value });
    Ok(Environment { variables: variables.collect(), warnings })
}

fn entries<'a>(container: &'a Map<String, Value>, list: &str) -> impl Iterator<Item = &'a Value> {
    container.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// All Services unless the Pod does without; that of the API server in any case.
fn service_variables(sources: &Sources<'_>) -> BTreeMap<String, String> {
    let linked = sources.pod.spec.get("enableServiceLinks") != Some(&Value::Bool(false));
    let own = sources.services.iter().filter(|_| linked);
    sources.kubernetes.into_iter().chain(own).flat_map(services::variables).collect()
}

struct Resolving<'a> {
    found: BTreeMap<String, Resolved>,
    warnings: Vec<Warning>,
    sources: &'a Sources<'a>,
}

impl Resolving<'_> {
    /// All keys of a config map or Secret.
    fn add_all(&mut self, source: &Value) -> Result<(), MissingConfig> {
        let prefix = source["prefix"].as_str().unwrap_or_default();
        for (field, kind) in
            [("configMapRef", ConfigKind::ConfigMap), ("secretRef", ConfigKind::Secret)]
        {
            if let Some(name) = source[field]["name"].as_str() {
                let content = self.content(kind, name, &source[field])?.unwrap_or_default();
                self.take(kind, name, prefix, content);
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        kind: ConfigKind,
        name: &str,
        prefix: &str,
        content: BTreeMap<String, String>,
    ) {
        let named = content.into_iter().map(|(key, value)| (format!("{prefix}{key}"), value));
        let (good, bad): (Vec<_>, Vec<_>) = named.partition(|(key, _)| is_variable_name(key));
        self.found.extend(good.into_iter().map(|(key, value)| (key, Resolved::Value(value))));
        if !bad.is_empty() {
            let bad = bad.into_iter().map(|(key, _)| key).collect();
            self.warnings.push(Warning::InvalidNames(kind, name.to_owned(), bad));
        }
    }

    fn add(
        &mut self,
        variable: &Value,
        links: &BTreeMap<String, String>,
    ) -> Result<(), MissingConfig> {
        let Some(name) = variable["name"].as_str() else { return Ok(()) };
        if let Some(value) = self.value(variable, links)? {
            self.found.insert(name.to_owned(), value);
        }
        Ok(())
    }

    fn value(
        &mut self,
        variable: &Value,
        links: &BTreeMap<String, String>,
    ) -> Result<Option<Resolved>, MissingConfig> {
        let source = &variable["valueFrom"];
        for (field, kind) in
            [("configMapKeyRef", ConfigKind::ConfigMap), ("secretKeyRef", ConfigKind::Secret)]
        {
            if source[field].is_object() {
                return self.key(kind, &source[field]).map(|value| value.map(Resolved::Value));
            }
        }
        if let Some(path) = source["fieldRef"]["fieldPath"].as_str() {
            let known = origin_value(self.sources.pod, path).map(Resolved::Value);
            return Ok(Some(known.unwrap_or_else(|| Resolved::Reference(source.clone()))));
        }
        if source.is_object() {
            return Ok(Some(Resolved::Reference(source.clone())));
        }
        let text = variable["value"].as_str().unwrap_or_default();
        let earlier = |name: &str| match self.found.get(name) {
            Some(Resolved::Value(value)) => Some(value.clone()),
            Some(Resolved::Reference(_)) => None,
            None => links.get(name).cloned(),
        };
        Ok(Some(Resolved::Value(expand(text, earlier))))
    }

    fn key(
        &mut self,
        kind: ConfigKind,
        reference: &Value,
    ) -> Result<Option<String>, MissingConfig> {
        let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
        let (name, key) = (text("name"), text("key"));
        let Some(content) = self.content(kind, &name, reference)? else { return Ok(None) };
        match content.get(&key) {
            Some(value) => Ok(Some(value.clone())),
            None if is_optional(reference) => {
                self.warnings.push(Warning::OptionalKeyNotFound(kind, name, key));
                Ok(None)
            }
            None => Err(MissingConfig { kind, name, key: Some(key) }),
        }
    }

    fn content(
        &mut self,
        kind: ConfigKind,
        name: &str,
        reference: &Value,
    ) -> Result<Option<BTreeMap<String, String>>, MissingConfig> {
        let content = (self.sources.config)(kind, name);
        if content.is_some() {
            return Ok(content);
        }
        if is_optional(reference) {
            self.warnings.push(Warning::OptionalNotFound(kind, name.to_owned()));
            return Ok(None);
        }
        Err(MissingConfig { kind, name: name.to_owned(), key: None })
    }
}

fn is_optional(reference: &Value) -> bool {
    reference["optional"] == Value::Bool(true)
}

/// What the API server accepts as the name of a variable.
fn is_variable_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_-.".contains(c));
    let dots = name == "." || name.starts_with("..");
    starts && !dots && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
