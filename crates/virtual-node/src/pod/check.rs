//! The check of an export, on the hub and in the cluster of the executor.

use fleet_api::offload::pod_fields::POD;
use fleet_api::offload::{OffloadTerms, PodExportSpec, Refusal};
use serde_json::{Map, Value};

use super::hash::spec_hash;
use super::path::Path;
use super::rejection::Rejection;
use super::walk::Walk;
use super::{checks, metadata};

/// Whether an export is what an origin with these agents makes of a Pod that may cross.
///
/// `cluster` is the member whose namespace the export is in, or was copied from: what it states itself is not trusted.
///
/// # Errors
/// Names the first field that is refused.
pub fn check(export: &PodExportSpec, cluster: &str, terms: &OffloadTerms) -> Result<(), Rejection> {
    let origin = &export.origin;
    if origin.cluster != cluster {
        return Err(Rejection::new(Refusal::InvalidValue, "origin.cluster"));
    }
    checks::namespace(&origin.namespace, terms)?;
    let walk = Walk { version: terms.profile_version };
    let translated = walk.object(&POD, &export.pod.0, &Path::SPEC)?;
    same(&translated, &export.pod.0)?;
    checks::spec(&translated, &origin.namespace, terms)?;
    checks::contents(&translated, &export.configs)?;
    metadata::check_labels(&export.labels, terms)?;
    metadata::check_annotations(&export.annotations, terms)?;
    if export.disconnect != terms.disconnect {
        return Err(Rejection::new(Refusal::NotTranslated, "disconnect"));
    }
    // A hub whose definitions are older drops fields that it does not know.
    if export.spec_hash == spec_hash(export) {
        Ok(())
    } else {
        Err(Rejection::new(Refusal::NotTranslated, "specHash"))
    }
}

/// Whether a walk has left nothing out.
fn same(walked: &Map<String, Value>, given: &Map<String, Value>) -> Result<(), Rejection> {
    match difference(walked, given, "spec") {
        None => Ok(()),
        Some(field) => Err(Rejection::new(Refusal::NotTranslated, field)),
    }
}

/// The first field that the second object has and the first has not.
fn difference(
    walked: &Map<String, Value>,
    given: &Map<String, Value>,
    path: &str,
) -> Option<String> {
    given.iter().find_map(|(name, value)| {
        let path = format!("{path}.{name}");
        match walked.get(name) {
            Some(left) => differs(left, value, &path),
            None => Some(path),
        }
    })
}

fn differs(walked: &Value, given: &Value, path: &str) -> Option<String> {
    match (walked, given) {
        (Value::Object(walked), Value::Object(given)) => difference(walked, given, path),
        (Value::Array(walked), Value::Array(given)) => {
            let pairs = walked.iter().zip(given).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (walked, given))| differs(walked, given, &format!("{path}[{at}]")))
        }
        _ => (walked != given).then(|| path.to_owned()),
    }
}
