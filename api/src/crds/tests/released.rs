//! The definitions of the standard API, which are files of its releases with columns of ours.

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::columns::check;

fn read(plural: &str) -> CustomResourceDefinition {
    let folder = "../charts/member-agent/files/multicluster-crds";
    let file = format!("multicluster.x-k8s.io_{plural}.yaml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(file);
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every column names a field, and what users ask first is there: whether it works, why not, and for an import the clusters.
#[test]
fn tables_show_what_users_ask_first() {
    let exports = ["Valid", "Ready", "Reason", "Conflict"];
    let imports = ["Type", "IP", "Port", "Clusters", "Ready", "Reason"];
    for (plural, wanted) in [("serviceexports", &exports[..]), ("serviceimports", &imports)] {
        let crd = read(plural);
        assert_eq!(crd.spec.versions.len(), 2, "{plural}");
        for version in &crd.spec.versions {
            check(&crd, version);
            let columns = version.additional_printer_columns.iter().flatten();
            let shown = columns.filter(|column| column.priority.unwrap_or_default() == 0);
            let names: Vec<_> = shown.map(|column| column.name.as_str()).collect();
            assert_eq!(names[..wanted.len()], *wanted, "{plural} {}", version.name);
        }
    }
}
