//! Definitions of the hub.

use fleet_api::kinds::{EXPORTED_SERVICE, RESOLVED_SERVICE};

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::seen::{Hub, Seen};

/// Whether the hub has what the standard API needs, if a member takes part in it.
pub(super) fn definitions(seen: &Seen, hub: &Hub) -> Outcome {
    let takes_part = |own: &crate::doctor::seen::Cluster| own.takes_part();
    let is_wanted = hub.serves_standard()?
        || seen.members.iter().filter_map(|it| it.own.as_ref().ok()).any(takes_part);
    if !is_wanted {
        return Ok(Vec::new());
    }
    let served = known(&hub.kinds)?;
    let missing = [EXPORTED_SERVICE, RESOLVED_SERVICE].map(|kind| kind.kind).into_iter();
    let missing: Vec<_> = missing.filter(|kind| !served.contains(*kind)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!(
        "the hub does not serve {}: no member exports or imports through the standard API",
        missing.join(" and ")
    );
    let advice = "value multicluster.mode=on of the chart hub-agent installs the definitions";
    Ok(vec![Finding::failure(what, advice)])
}

/// Whether EndpointSliceExports carry all that names in DNS and zones need.
pub(super) fn endpoint_details(_: &Seen, hub: &Hub) -> Outcome {
    if !hub.serves_standard()? || *known(&hub.has_endpoint_details)? {
        return Ok(Vec::new());
    }
    let what = "the hub has the original's definition of EndpointSliceExport, without host names and zones: Pods of imported \
                headless Services have names made of their addresses, and imported endpoints have no zone";
    let advice = "install this project's definitions: value crds.install=true of the chart hub-agent, with crds.adopt=true where \
                  another release has installed them";
    Ok(vec![Finding::warning(what, advice)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, sound, unread};
    use fleet_model::multicluster::mode::Mode;

    #[test]
    fn a_hub_without_the_kinds_is_of_no_use_to_participants() {
        let mut world = sound();
        assert_eq!(world.examine_hub(definitions), []);
        world.hub().kinds.as_mut().unwrap().remove("ResolvedService");
        let found = world.examine_hub(definitions);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("serve ResolvedService:"), "{found:?}");
        world.report().clusterset_id = None;
        assert_eq!(levels(&world.examine_hub(definitions)), ["failure"], "a member takes part");
        world.agent().mode = Mode::Off;
        assert_eq!(world.examine_hub(definitions), [], "no member takes part");
    }

    #[test]
    fn the_originals_definition_is_a_warning() {
        let mut world = sound();
        assert_eq!(world.examine_hub(endpoint_details), []);
        world.hub().has_endpoint_details = Ok(false);
        assert_eq!(levels(&world.examine_hub(endpoint_details)), ["warning"]);
        world.hub().has_endpoint_details = Err(unread());
        assert_eq!(world.try_examine_hub(endpoint_details), Err(unread()));
        world.report().clusterset_id = None;
        assert_eq!(world.examine_hub(endpoint_details), [], "the hub does not serve the API");
    }
}
