//! `product import` and `product export`.

use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::postgres::{Cluster, ask, shared};

use crate::place::{Place, Said, names};

/// Longer than anything here takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

const HEAD: &str = "sku,name,unitPrice,currency\n";

/// A place with a team, Acme.
pub fn place() -> Place {
    let place = Place::new();
    place.make(&["team", "create", "--name", "Acme"]);
    place
}

pub fn import<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let import = [
        "product", "import", "p.csv", "--team", "Acme", "--mode", "live",
    ];
    [&import, more].concat()
}

pub fn export(place: &Place, more: &[&str]) -> String {
    let export = ["product", "export", "--team", "Acme", "--mode", "live"];
    let said = place.run(&[&export, more].concat());
    assert_eq!((said.code, said.errors.as_str()), (0, ""));
    said.output
}

fn counts(answer: &Value) -> [u64; 4] {
    ["new", "changed", "unchanged", "refused"].map(|name| answer[name].as_u64().unwrap())
}

/// A file with this many products.
pub fn lines(count: usize) -> String {
    let mut csv = HEAD.to_owned();
    for number in 0..count {
        writeln!(csv, "S-{number},Product {number},19.90,EUR").unwrap();
    }
    csv
}

#[test]
fn an_import_says_what_it_did_and_a_second_one_finds_nothing_to_do() {
    let place = place();
    place.write("p.csv", format!("{HEAD}A,One,1.50,EUR\nB,\"=1+1\",2,EUR\n"));
    let planned = place.json(&import(&["--dry-run"]));
    assert_eq!(
        (counts(&planned), &planned["imported"]),
        ([2, 0, 0, 0], &json!(false))
    );
    assert_eq!(export(&place, &[]).lines().count(), 1);

    let answer = place.json(&import(&[]));
    assert_eq!(
        names(&answer),
        [
            "id",
            "mode",
            "imported",
            "new",
            "changed",
            "unchanged",
            "refused",
            "refusedLines"
        ]
    );
    assert_eq!(
        (counts(&answer), &answer["imported"]),
        ([2, 0, 0, 0], &json!(true))
    );
    assert_eq!(counts(&place.json(&import(&[]))), [0, 0, 2, 0]);
    place.write("p.csv", "sku,unitPrice\r\nB,3\r\n");
    assert_eq!(counts(&place.json(&import(&[]))), [0, 1, 0, 0]);

    let csv = export(&place, &[]);
    assert!(csv.contains(",'=1+1,3,EUR,,B,,,,active\r\n"), "{csv}");
    assert!(csv.contains(",One,1.50,EUR,,A,,,,active\r\n"), "{csv}");
    place.write("p.csv", &csv);
    assert_eq!(counts(&place.json(&import(&[]))), [0, 0, 2, 0]);
}

/// W19: others wait for each of them.
#[test]
fn a_large_file_is_imported_in_steps_of_a_thousand_lines() {
    let place = place();
    place.write("p.csv", lines(2_500));
    assert_eq!(counts(&place.json(&import(&[]))), [2_500, 0, 0, 0]);
    let events = place.json(&["audit", "list"]);
    let events = events.as_array().unwrap().iter();
    let steps = events.filter(|it| it["action"] == "import-products");
    assert_eq!(steps.count(), 3);
}

#[test]
fn nothing_is_imported_when_a_line_is_refused_unless_such_lines_are_left_out() {
    let place = place();
    place.write(
        "p.csv",
        format!("{HEAD}A,One,1,EUR\nB,Two,-1,EUR\n,Three,3,EUR\nA,Four,4,EUR\n"),
    );
    let said = place.run(&import(&["--json"]));
    assert_eq!(said.code, 1);
    assert!(
        said.errors
            .contains("3 lines are refused; nothing is imported"),
        "{}",
        said.errors
    );
    let answer: Value = serde_json::from_str(&said.output).unwrap();
    assert_eq!(
        (counts(&answer), &answer["imported"]),
        ([1, 0, 0, 3], &json!(false))
    );
    let refused = answer["refusedLines"].as_array().unwrap();
    assert_eq!(
        refused[0],
        json!({ "line": 3, "column": "unitPrice", "reason": "must be at least 0, but is -1" })
    );
    assert_eq!(
        (&refused[1]["line"], &refused[1]["column"]),
        (&json!(4), &json!(null))
    );
    assert_eq!(
        (&refused[2]["line"], &refused[2]["column"]),
        (&json!(5), &json!("sku"))
    );
    assert_eq!(export(&place, &[]).lines().count(), 1);

    let said = place.run(&import(&["--skip-refused", "--allow-without-sku"]));
    assert_eq!(said.code, 1);
    assert!(
        said.errors
            .contains("2 lines are refused; the others are imported"),
        "{}",
        said.errors
    );
    assert!(
        said.errors.contains("all is imported up to line 4"),
        "{}",
        said.errors
    );
    assert!(
        said.output.contains("must be at least 0, but is -1"),
        "{}",
        said.output
    );
    assert_eq!(export(&place, &[]).lines().count(), 3);
}

#[test]
fn a_file_that_is_none_of_products_is_refused_whole() {
    let place = place();
    place.write("p.csv", "name;unitPrice\n");
    place.run(&import(&[])).failed(1, "separated by commas");
    place.write("p.csv", "name,price\n");
    place
        .run(&import(&[]))
        .failed(1, "unknown column, \"price\"");
    place.write("p.csv", "");
    place.run(&import(&[])).failed(1, "line 1 is missing");
    std::fs::remove_file(place.path("p.csv")).unwrap();
    place.run(&import(&[])).failed(1, "cannot read p.csv");
    place.write("p.csv", HEAD);
    let import = [
        "product", "import", "p.csv", "--team", "Other", "--mode", "live",
    ];
    place.run(&import).failed(1, "there is no team");
}

#[test]
fn standard_input_is_a_file_too_and_lines_can_be_left_out_at_the_beginning() {
    let place = place();
    let import = [
        "product", "import", "-", "--team", "Acme", "--mode", "test", "--json",
    ];
    let mut command = place.command([&import[..], &["--from-line", "3"]].concat());
    let said = Said::by(&mut command, &lines(3));
    assert_eq!(said.code, 0, "{}", said.errors);
    assert_eq!(
        counts(&serde_json::from_str(&said.output).unwrap()),
        [2, 0, 0, 0]
    );
    assert_eq!(export(&place, &[]).lines().count(), 1, "the live catalog");
    let export = ["product", "export", "--team", "Acme", "--mode", "test"];
    assert_eq!(place.run(&export).output.lines().count(), 3);
}

#[test]
fn a_sku_that_comes_again_many_lines_later_is_refused() {
    let place = place();
    place.write("p.csv", lines(12_000) + "S-5,Again,1,EUR\n");
    let said = place.run(&import(&["--json"]));
    assert_eq!(said.code, 1);
    let answer: Value = serde_json::from_str(&said.output).unwrap();
    assert_eq!(counts(&answer), [12_000, 0, 0, 1]);
    assert_eq!(
        answer["refusedLines"],
        json!([{ "line": 12_002, "column": "sku", "reason": "is the same as in line 7" }])
    );
}

#[test]
fn an_export_goes_to_a_file_whole_and_shows_one_status_or_all() {
    let place = place();
    place.write("p.csv", lines(1_001));
    assert_eq!(counts(&place.json(&import(&[]))), [1_001, 0, 0, 0]);
    let export_to = [
        "product", "export", "--team", "Acme", "--mode", "live", "--output", "out.csv",
    ];
    let said = place.run(&export_to);
    assert_eq!((said.code, said.output.as_str()), (0, ""));
    assert!(
        said.errors.contains("1001 products are in out.csv"),
        "{}",
        said.errors
    );
    let csv = std::fs::read_to_string(place.path("out.csv")).unwrap();
    assert_eq!((csv.lines().count(), export(&place, &[])), (1_002, csv));
    assert_eq!(export(&place, &["--status", "archived"]).lines().count(), 1);
    assert_eq!(export(&place, &["--status", "all"]).lines().count(), 1_002);
    let nowhere = [&export_to[..7], &["no/such/folder.csv"]].concat();
    place
        .run(&nowhere)
        .failed(1, "cannot write no/such/folder.csv");
}

/// An import that has just noted that its first step is done. As by a shell, it has a group of its own.
pub fn noting(place: &Place) -> Child {
    let mut command = place.command(import(&["--allow-without-sku"]));
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.process_group(0).spawn().unwrap();
    let errors = process.stderr.as_mut().unwrap();
    let note = b"note: all is imported up to line 1001\n";
    let mut line = vec![0; note.len()];
    std::io::Read::read_exact(errors, &mut line).unwrap();
    assert_eq!(line, note, "{}", String::from_utf8_lossy(&line));
    process
}

pub fn signal(process: &Child, name: &str) {
    let pid = process.id().to_string();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-s", name, &pid]).status().unwrap().success());
}

/// Waits until some products exist, and kills the process.
fn kill_midway(mut process: Child, products: impl Fn() -> usize) {
    let end = Instant::now() + TIMEOUT;
    while products() == 0 {
        assert!(Instant::now() < end, "nothing is imported");
        assert!(process.try_wait().unwrap().is_none(), "it ended before");
        std::thread::sleep(Duration::from_millis(2));
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn an_import_that_was_killed_goes_on_where_it_was() {
    const COUNT: usize = 25_000;
    let postgres = shared().database();
    for database in ["sqlite:invoicing.db", &postgres] {
        let place = Place::new();
        let on = ["--database", database];
        place.make(&[&["team", "create", "--name", "Acme"], &on[..]].concat());
        place.write("p.csv", lines(COUNT));
        let products = || -> usize {
            let count = "SELECT count(*) FROM product";
            if database == postgres {
                return ask(&postgres, count).parse().unwrap();
            }
            let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
            file.query_row(count, [], |row| row.get::<_, i64>(0))
                .unwrap()
                .unsigned_abs() as usize
        };
        let mut command = place.command(import(&on));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null());
        kill_midway(process.spawn().unwrap(), products);
        let imported = products();
        assert!(
            imported < COUNT && imported.is_multiple_of(1_000),
            "{imported}"
        );
        let answer = place.json(&import(&on));
        let left = COUNT - imported;
        assert_eq!(counts(&answer), [left as u64, 0, imported as u64, 0]);
        assert_eq!(products(), COUNT);
    }
}

#[test]
fn what_is_imported_already_is_told_only_once_a_synchronous_standby_has_it() {
    let cluster = Cluster::start();
    let (place, url) = (Place::new(), cluster.database());
    let on = ["--database", url.as_str()];
    place.make(&[&["team", "create", "--name", "Acme"], &on[..]].concat());
    place.write("p.csv", lines(3));
    place.json(&import(&on));
    cluster.wait_for_standby("nobody");
    place.run(&import(&on)).failed(
        1,
        "the database may still lose that; run the same command again",
    );
    cluster.wait_for_standby("");
    assert_eq!(counts(&place.json(&import(&on))), [0, 0, 3, 0]);
}

#[test]
fn an_import_that_was_interrupted_says_how_to_go_on() {
    let place = place();
    place.write("p.csv", lines(25_000));
    let mut process = noting(&place);
    let mut errors = process.stderr.take().unwrap();
    let mut line = String::new();
    signal(&process, "INT");
    std::io::Read::read_to_string(&mut errors, &mut line).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1), "{line}");
    assert!(
        line.contains("error: interrupted; all is imported up to line"),
        "{line}"
    );
    let told = line.split("imported up to line ").last().unwrap();
    let last: usize = told.split(';').next().unwrap().parse().unwrap();
    assert_eq!(export(&place, &[]).lines().count(), last);
}
