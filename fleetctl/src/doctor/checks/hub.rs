//! Definitions of the hub.

use fleet_api::kinds::{ENDPOINT_SLICE_EXPORT as SLICES, EXPORTED_SERVICE, RESOLVED_SERVICE};

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::mend::{hub_helm, owns};
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
    Ok(vec![Finding::failure(what, advice).mend_with(hub_helm(hub, &["multicluster.mode=on"]))])
}

/// Whether EndpointSliceExports carry all that names in DNS and zones need.
pub(super) fn endpoint_details(_: &Seen, hub: &Hub) -> Outcome {
    if !hub.serves_standard()? || *known(&hub.has_endpoint_details)? {
        return Ok(Vec::new());
    }
    let what = "the hub has the original's definition of EndpointSliceExport, without host names and zones: Pods of imported \
                headless Services have names made of their addresses, and imported endpoints have no zone";
    let advice = "install this project's definitions: value crds.install=true of the chart hub-agent, with crds.adopt=true and \
                  helm's --take-ownership where another release or the original has installed them";
    let finding = Finding::warning(what, advice);
    let name = format!("{}.{}", SLICES.plural, SLICES.group);
    let is_ours = known(&hub.base.kinds)?.iter().any(|it| it.name == name && owns(&hub.base, it));
    Ok(vec![if is_ours {
        finding.mend_with(hub_helm(hub, &["crds.install=true"]))
    } else {
        finding
    }])
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
        assert_eq!(world.examine_hub(endpoint_details)[0].command, None, "it is another one's");
        let kind = &mut world.hub().base.kinds.as_mut().unwrap()[0];
        kind.name = "endpointsliceexports.networking.fleet.azure.com".to_owned();
        kind.owner = Some("fleet-system/hub-agent".to_owned());
        let command = world.examine_hub(endpoint_details)[0].command.clone().unwrap();
        assert!(command.ends_with("--set crds.install=true"), "{command}");
        world.hub().has_endpoint_details = Err(unread());
        assert_eq!(world.try_examine_hub(endpoint_details), Err(unread()));
        world.report().clusterset_id = None;
        assert_eq!(world.examine_hub(endpoint_details), [], "the hub does not serve the API");
    }
}
