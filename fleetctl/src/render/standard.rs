//! The API of multicluster.x-k8s.io in the state of the fleet.

use super::table::{ages, list, table};
use crate::output::Paint;
use crate::status::{StandardServiceStatus, StandardStatus, Status};

/// Nothing where no agent serves the API.
pub(super) fn tables(status: &Status, wide: bool, paint: Paint) -> String {
    let mut text = String::new();
    let members = status.members.iter();
    let members = members.filter_map(|it| Some((it.name.as_str(), it.standard.as_ref()?)));
    let rows: Vec<_> = members.map(|(name, standard)| row(name, standard, wide)).collect();
    if !rows.is_empty() {
        let mut head =
            vec!["MULTICLUSTER", "ACCEPTED", "PUBLISHED", "EXPORTS", "CONFLICTS", "IMPORTS", "LAG"];
        if wide {
            head.extend(["OLDEST", "FOREIGN"]);
        }
        text = format!("\n{}", table(&head, &rows, paint));
    }
    if wide && !status.standard_services.is_empty() {
        let head = [
            "SERVICE",
            "TYPE",
            "EXPORTED BY",
            "NOT IN FORCE",
            "CONFLICTS",
            "READY IN",
            "WAITING",
            "ENDPOINTS",
        ];
        let rows: Vec<_> = status.standard_services.iter().map(service_row).collect();
        text.push('\n');
        text += &table(&head, &rows, paint);
    }
    text
}

fn row(name: &str, standard: &StandardStatus, wide: bool) -> Vec<String> {
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let mut row = vec![
        name.to_owned(),
        yes(standard.accepted),
        yes(standard.published),
        format!("{}/{}", standard.exported, standard.exports),
        standard.conflicts.to_string(),
        format!("{}/{}", standard.ready, standard.imports),
        standard.lag.slices.to_string(),
    ];
    if wide {
        row.push(ages(standard.lag.oldest_seconds));
        row.push(standard.foreign.to_string());
    }
    row
}

fn service_row(service: &StandardServiceStatus) -> Vec<String> {
    vec![
        service.name.clone(),
        service.kind.unwrap_or("-").to_owned(),
        list(&service.exporters),
        list(&service.refused),
        list(&service.conflicts),
        list(&service.importers),
        list(&service.waiting),
        service.endpoints.to_string(),
    ]
}
