//! The terms on which an origin lets its Pods go.

use fleet_api::offload::OffloadTerms;

/// What an executor accepts, and of the Secrets only those that the origin's administrators list, too (`namespace/name`).
pub fn origin_terms(offered: &OffloadTerms, secrets: &[String]) -> OffloadTerms {
    let both = offered.secrets.iter().filter(|name| secrets.contains(name));
    OffloadTerms { secrets: both.cloned().collect(), ..offered.clone() }
}
