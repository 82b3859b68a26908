//! The procedures of docs/backup.md with PostgreSQL's own tools.

use test_support::postgres::{Cluster, pg_dump, pg_restore};

use crate::copy::content::{Random, fill};
use crate::copy::{cluster, empty};
use crate::place::Place;

#[test]
fn a_dump_has_everything() {
    let place = Place::new();
    let seed = uuid::Uuid::new_v4().as_u64_pair().0;
    eprintln!("the seed of this test: {seed}");
    fill(&empty(&place, "first.db"), &mut Random(seed));
    let (from, to) = (cluster().database(), cluster().database());
    let copy = |from: &str, to: &str| place.json(&["copy", "--from", from, "--to", to]);
    let first = copy("sqlite:first.db", &from);
    pg_dump(&from, &place.path("dump"));
    pg_restore(&place.path("dump"), &to);
    let second = copy(&to, "sqlite:second.db");
    assert_eq!(second["id"], first["id"]);
    place.json(&["team", "create", "--name", "After", "--database", &to]);
}

#[test]
fn a_point_in_time_is_recovered() {
    let place = Place::new();
    let primary = Cluster::archiving();
    primary.ask("postgres", "CREATE DATABASE invoicing");
    let database = |cluster: &Cluster| {
        format!(
            "postgres://invoicing@127.0.0.1:{}/invoicing",
            cluster.port()
        )
    };
    let create = |cluster: &Cluster, name: &str| {
        place.json(&[
            "team",
            "create",
            "--name",
            name,
            "--database",
            &database(cluster),
        ])
    };
    create(&primary, "Before the copy");
    primary.back_up();
    create(&primary, "Before the mistake");
    let time = primary.ask("postgres", "SELECT clock_timestamp()");
    create(&primary, "The mistake");
    primary.archive();
    primary.kill();

    let recovered = primary.recovered(&time);
    create(&recovered, "Afterwards");
    let teams = place.json(&["team", "list", "--database", &database(&recovered)]);
    let names: Vec<_> = teams
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["Before the copy", "Before the mistake", "Afterwards"]
    );
}
