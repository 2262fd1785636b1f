//! What the origin makes of a Pod.

use fleet_api::offload::pod_fields::POD;
use fleet_api::offload::{
    ConfigCopy, OffloadTerms, OriginPod, PodExportSpec, PodTemplate, Refusal,
};
use serde_json::{Map, Value, json};

use super::hash::spec_hash;
use super::local::LocalPod;
use super::path::Path;
use super::rejection::Rejection;
use super::walk::Walk;
use super::{checks, metadata, substitute, token};
use crate::names;

/// Limit of a local volume that has none.
const EMPTY_DIR: &str = "1Gi";

/// Names of the origin, for Pods whose executor lets them be resolved by the origin's servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsOption {
    /// Addresses of name servers of the origin.
    pub servers: Vec<String>,
    /// Its domain, such as `cluster.local`.
    pub domain: String,
}

/// The export of a Pod of a cluster for an executor, without config maps and Secrets and without a hash, if it may cross.
///
/// # Errors
/// Names the first field that is refused. The same Pod on the same terms is always refused by the same field.
pub fn translate(
    pod: &LocalPod,
    cluster: &str,
    executor: &str,
    terms: &OffloadTerms,
    dns: Option<&DnsOption>,
) -> Result<PodExportSpec, Rejection> {
    if pod.is_of_daemon_set() {
        let field = "metadata.ownerReferences";
        return Err(Rejection::new(Refusal::DaemonSetNotOffloaded, field));
    }
    checks::namespace(&pod.namespace, terms)?;
    let mut spec = pod.spec.clone();
    token::remove_injected(&mut spec);
    substitute::substitute(&mut spec, pod);
    let walk = Walk { version: terms.profile_version };
    let mut spec = walk.object(&POD, &spec, &Path::SPEC)?;
    limit_volumes(&mut spec);
    if let Some(dns) = dns.filter(|_| terms.origin_dns && !spec.contains_key("dnsPolicy")) {
        set_dns(&mut spec, dns, &pod.namespace);
    }
    checks::spec(&spec, &pod.namespace, terms)?;
    Ok(PodExportSpec {
        origin: origin(pod, cluster),
        executor: executor.to_owned(),
        pod: PodTemplate(spec),
        hostname: names::hostname(pod.spec.get("hostname").and_then(Value::as_str), &pod.name),
        labels: metadata::labels(&pod.labels, terms)?,
        annotations: metadata::annotations(&pod.annotations, terms)?,
        disconnect: terms.disconnect,
        resumed: pod.start_time.is_some(),
        ..PodExportSpec::default()
    })
}

/// An export with nothing but what an executor needs to stop a Pod that has started.
pub(crate) fn identity(pod: &LocalPod, cluster: &str, executor: &str) -> PodExportSpec {
    let mut export = PodExportSpec {
        origin: origin(pod, cluster),
        executor: executor.to_owned(),
        resumed: true,
        ..PodExportSpec::default()
    };
    export.spec_hash = spec_hash(&export);
    export
}

fn origin(pod: &LocalPod, cluster: &str) -> OriginPod {
    OriginPod {
        cluster: cluster.to_owned(),
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    }
}

/// Adds the contents that a Pod refers to, and the hash of it all.
///
/// # Errors
/// If they exceed what crosses.
pub(crate) fn with_contents(
    mut export: PodExportSpec,
    contents: Vec<ConfigCopy>,
) -> Result<PodExportSpec, Rejection> {
    checks::contents(&export.pod.0, &contents)?;
    export.configs = contents;
    export.spec_hash = spec_hash(&export);
    Ok(export)
}

fn limit_volumes(spec: &mut Map<String, Value>) {
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten();
    for empty in volumes.filter_map(|volume| volume.get_mut("emptyDir")?.as_object_mut()) {
        empty.entry("sizeLimit").or_insert_with(|| EMPTY_DIR.into());
    }
}

/// As a kubelet of the origin would: short names are searched for in its domain first.
fn set_dns(spec: &mut Map<String, Value>, dns: &DnsOption, namespace: &str) {
    let DnsOption { servers, domain } = dns;
    let config = json!({
        "nameservers": servers.iter().take(3).collect::<Vec<_>>(),
        "searches": [format!("{namespace}.svc.{domain}"), format!("svc.{domain}"), domain],
        "options": [{ "name": "ndots", "value": "5" }],
    });
    spec.insert("dnsPolicy".to_owned(), "None".into());
    spec.entry("dnsConfig").or_insert(config);
}
