//! Labels of slices: those of the Service, and up to three of the controller.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::Config;
use crate::names::{HEADLESS, MANAGED_BY, SERVICE_NAME};

type Labels = BTreeMap<String, String>;

/// The desired labels of the Service's slices.
pub(crate) fn desired(service: &Service, config: &Config) -> Labels {
    let mut labels: Labels = mirrored(service.metadata.labels.as_ref(), config)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let name = service.metadata.name.clone().unwrap_or_default();
    labels.insert(config.service_label.to_owned(), name);
    labels.insert(MANAGED_BY.to_owned(), config.manager.clone());
    if config.is_headless(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels
}

/// Whether the slice must be written because its labels differ from the Service's. Differences in the reserved labels
/// alone are no reason to write.
pub(crate) fn changed(slice: &EndpointSlice, service: &Service, config: &Config) -> bool {
    let (slice, service) = (slice.metadata.labels.as_ref(), service.metadata.labels.as_ref());
    !mirrored(slice, config).eq(mirrored(service, config))
}

fn mirrored<'a>(
    labels: Option<&'a Labels>,
    config: &Config,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    let reserved = [SERVICE_NAME, config.service_label, MANAGED_BY, HEADLESS];
    let reserved = move |key: &str| reserved.contains(&key);
    labels.into_iter().flatten().filter(move |(key, _)| !reserved(key))
}
