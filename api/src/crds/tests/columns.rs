//! Columns of tables: every kind has some, and each names a field of its kind.
//!
//! An API server accepts any path that parses, and prints nothing for one that names no field. It prints the first value of a
//! path that has several, so lists are shown whole, as JSON, or by an index.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
    JSONSchemaPropsOrArray,
};

use super::all;

/// A kind of which the agents know the name alone. Where `KubeFleet` is installed, its definition has columns of its own.
const WITHOUT_FIELDS: &str = "MemberCluster";

const CREATED: &str = ".metadata.creationTimestamp";

/// One step of a path.
#[derive(Debug, PartialEq)]
enum Segment<'a> {
    /// A property.
    Property(&'a str),
    /// An element of a list.
    Index,
    /// The elements of a list of which a property has a value.
    Where(&'a str),
    /// All elements of a list, of which an API server prints the first alone.
    Each,
}

fn segments(path: &str) -> Option<Vec<Segment<'_>>> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (segment, after) = if let Some(filter) = rest.strip_prefix("[?(@.") {
            let (filter, after) = filter.split_once(")]")?;
            let (property, value) = filter.split_once("==")?;
            let is_quoted = value.len() > 2 && value.starts_with('\'') && value.ends_with('\'');
            is_quoted.then_some((Segment::Where(property), after))?
        } else if let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']')?;
            let is_index = index.parse::<u8>().is_ok();
            (if is_index { Segment::Index } else { Segment::Each }, after)
        } else {
            let name = rest.strip_prefix('.')?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            (Segment::Property(&name[..end]), &name[end..])
        };
        found.push(segment);
        rest = after;
    }
    Some(found)
}

fn step<'a>(schema: &'a JSONSchemaProps, segment: &Segment<'_>) -> Option<&'a JSONSchemaProps> {
    let items = || match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(&**items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    };
    match segment {
        Segment::Property(name) => schema.properties.as_ref()?.get(*name),
        Segment::Index => items(),
        Segment::Where(name) => items().filter(|items| has(items, name)),
        Segment::Each => None,
    }
}

fn has(schema: &JSONSchemaProps, property: &str) -> bool {
    schema.properties.iter().flatten().any(|(name, _)| name == property)
}

/// The field that a path names, if there is one of which an API server prints all.
fn field<'a>(root: &'a JSONSchemaProps, path: &str) -> Option<&'a JSONSchemaProps> {
    segments(path)?.iter().try_fold(root, step)
}

fn root(version: &CustomResourceDefinitionVersion) -> &JSONSchemaProps {
    version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap()
}

/// Whether a value of the field fits into a column. A list or an object is printed as JSON in one of texts.
fn fits(field: &JSONSchemaProps, column: &str) -> bool {
    match column {
        "string" => true,
        "date" => field.format.as_deref() == Some("date-time"),
        other => field.type_.as_deref() == Some(other),
    }
}

pub(super) fn check(crd: &CustomResourceDefinition, version: &CustomResourceDefinitionVersion) {
    let kind = &crd.spec.names.kind;
    let columns = version.additional_printer_columns.as_deref().unwrap_or_default();
    let (last, others) = columns.split_last().unwrap_or_else(|| panic!("{kind} has no columns"));
    assert_eq!((&*last.name, &*last.json_path), ("Age", CREATED), "{kind}");
    assert_eq!(others.is_empty(), kind == WITHOUT_FIELDS, "{kind} shows its age alone");
    for column in others {
        let path = &column.json_path;
        let field = field(root(version), path);
        let field = field.unwrap_or_else(|| panic!("{kind} has no field {path}"));
        assert!(fits(field, &column.type_), "{kind}: {path} is no {}", column.type_);
    }
}

#[test]
fn every_column_names_a_field() {
    for crd in all() {
        for version in &crd.spec.versions {
            check(&crd, version);
        }
    }
}

#[test]
fn no_column_has_the_name_of_another() {
    for crd in all() {
        for version in &crd.spec.versions {
            let columns = version.additional_printer_columns.iter().flatten();
            let mut names: Vec<_> = columns.map(|column| &*column.name).chain(["Name"]).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", crd.spec.names.kind);
        }
    }
}

#[test]
fn paths_that_an_api_server_would_not_print_are_found() {
    let crd = all().into_iter().find(|crd| crd.spec.names.kind == "ResolvedService").unwrap();
    let root = root(&crd.spec.versions[0]);
    for good in
        [".spec.exporters", ".spec.exporters[0].cluster", ".spec.ports[?(@.name=='a')].port"]
    {
        assert!(field(root, good).is_some(), "{good}");
    }
    let bad = [
        ".spec.exporter",
        "spec.exporters",
        ".spec.exporters[*].cluster",
        ".spec.exporters.cluster",
        ".spec.exporters[0].name",
        ".spec.ports[?(@.title=='a')].port",
        ".spec.ports[?(@.name==a)].port",
        ".spec.ports[?(@.name=='a'].port",
    ];
    for bad in bad {
        assert!(field(root, bad).is_none(), "{bad}");
    }
}
