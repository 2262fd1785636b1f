//! docs/design/traffic.md#preference

use crate::{
    ClusterSelector, Fallback, Operator, Preference, Properties, Requirement, SAME_AS_IMPORTER,
};

fn properties(all: &[(&str, &str)]) -> Properties {
    all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn requirement(key: &str, operator: Operator, values: &[&str]) -> ClusterSelector {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    let requirement = Requirement { key: key.to_owned(), operator, values };
    ClusterSelector { requirements: vec![requirement], ..ClusterSelector::default() }
}

#[test]
fn requirements_on_a_property() {
    use Operator::{DoesNotExist, Exists, In, NotIn};
    // Operator, values, whether it holds for the region of the importer, for another one, and for none.
    let rows: [(Operator, &[&str], [bool; 3]); 8] = [
        (In, &["eu", "us"], [true, true, false]),
        (In, &["asia"], [false, false, false]),
        (In, &[SAME_AS_IMPORTER], [true, false, false]),
        (In, &[SAME_AS_IMPORTER, "us"], [true, true, false]),
        (NotIn, &["us"], [true, false, true]),
        (NotIn, &[SAME_AS_IMPORTER], [false, true, true]),
        (Exists, &[], [true, true, false]),
        (DoesNotExist, &[], [false, false, true]),
    ];
    let importer = properties(&[("region", "eu")]);
    let clusters = [importer.clone(), properties(&[("region", "us")]), properties(&[])];
    for (operator, values, expected) in rows {
        let selector = requirement("region", operator, values);
        let holds = clusters.each_ref().map(|cluster| selector.selects(cluster, &importer));
        assert_eq!(holds, expected, "{operator:?} {values:?}");
    }
}

#[test]
fn the_importers_value_selects_nothing_where_it_has_none() {
    let cluster = properties(&[("region", "eu")]);
    for operator in [Operator::In, Operator::NotIn] {
        let selector = requirement("region", operator, &[SAME_AS_IMPORTER, "eu"]);
        assert!(!selector.selects(&cluster, &Properties::new()));
    }
    let selector = ClusterSelector {
        properties: properties(&[("region", SAME_AS_IMPORTER)]),
        ..ClusterSelector::default()
    };
    assert!(!selector.selects(&cluster, &Properties::new()));
    assert!(!selector.selects(&Properties::new(), &Properties::new()));
    assert!(selector.selects(&cluster, &cluster));
}

#[test]
fn all_parts_have_to_match_and_no_part_selects_nothing() {
    let cluster = properties(&[("region", "eu"), ("cost", "low")]);
    let both = |cost: &str| ClusterSelector {
        properties: properties(&[("cost", cost)]),
        ..requirement("region", Operator::Exists, &[])
    };
    assert!(both("low").selects(&cluster, &cluster));
    assert!(!both("high").selects(&cluster, &cluster));
    assert!(!ClusterSelector::default().selects(&cluster, &cluster));
}

#[test]
fn ranks_of_clusters() {
    let eu = properties(&[("region", "eu")]);
    let us = properties(&[("region", "us")]);
    let regions = Preference::Selectors(vec![
        requirement("region", Operator::In, &[SAME_AS_IMPORTER]),
        requirement("region", Operator::Exists, &[]),
    ]);
    let none = properties(&[]);
    // Preference, own, properties, rank with fallback All, with None.
    let rows = [
        (&Preference::None, false, &us, Some(0), Some(0)),
        (&Preference::LocalFirst, true, &eu, Some(0), Some(0)),
        (&Preference::LocalFirst, false, &eu, Some(1), None),
        (&regions, true, &eu, Some(0), Some(0)),
        (&regions, false, &eu, Some(0), Some(0)),
        (&regions, false, &us, Some(1), Some(1)),
        (&regions, false, &none, Some(2), None),
    ];
    for (preference, own, exporter, all, selected) in rows {
        let rank = |fallback| preference.rank(fallback, own, exporter, &eu);
        assert_eq!([rank(Fallback::All), rank(Fallback::None)], [all, selected], "{preference:?}");
    }
}
