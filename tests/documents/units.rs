//! The closed list of units, with the codes of UN/ECE Recommendations 20 and 21.

use std::collections::BTreeSet;

use test_support::document::{self, repository};

/// Code, UN/ECE code and name of every unit of docs/decisions.md, "Units of measure": U1 to U10.
fn units() -> Vec<(String, String, String)> {
    let page = std::fs::read_to_string(repository().join("docs/decisions.md"));
    let page = page.expect("the decisions are there").replace("\n  ", " ");
    let groups = page.lines().filter(|line| line.starts_with("- **U"));
    let units = groups.flat_map(|group| {
        let (_, units) = group.split_once(": ").expect("a group has a name");
        units.trim_end_matches('.').split(", ")
    });
    units
        .map(|unit| {
            let mut parts = unit.splitn(3, ' ');
            let mut part = || {
                parts
                    .next()
                    .expect("a unit has a code, a UN/ECE code and a name")
            };
            let code = part().trim_matches('`').to_owned();
            (code, part().to_owned(), part().to_owned())
        })
        .collect()
}

#[test]
fn the_units_are_the_78_that_were_decided() {
    let catalog = document::catalog();
    let published = catalog.at("/components/schemas/UnitOfMeasure")["enum"].as_array();
    let published: Vec<_> = published
        .expect("it is a list")
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    assert_eq!(published.len(), 78);
    let units = units();
    let decided: BTreeSet<_> = units.iter().map(|(code, _, _)| code.as_str()).collect();
    assert_eq!(published.into_iter().collect::<BTreeSet<_>>(), decided);
}

#[test]
fn the_description_gives_the_un_ece_code_and_the_name_of_each_unit() {
    let catalog = document::catalog();
    let schema = catalog.at("/components/schemas/UnitOfMeasure");
    let description = schema["description"].as_str().unwrap_or_default();
    for (code, unece, name) in units() {
        let row = format!("| `{code}` | {unece} | {name} |");
        assert!(description.contains(&row), "no row {row}");
    }
}
