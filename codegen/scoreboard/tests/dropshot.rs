//! The scoreboard of the documents that every machine that builds this has: those for tests, and dropshot's own.
//!
//! After a change of the generator: `EXPECTORATE=overwrite cargo test -p openapi-dropshot-scoreboard`, and read
//! the difference of `dropshot.md`.

use openapi_dropshot_scoreboard::{build, of_dropshot, of_tests, try_all};

/// A single test, since all crates are built in one folder.
#[test]
fn what_is_accepted_compiles_and_comes_back_as_it_is() {
    let folder = build::repository().join("target/scoreboard");
    let ours = try_all(&of_tests().unwrap(), &folder).unwrap();
    assert_eq!(ours.mistakes(), Vec::<String>::new());
    assert_eq!(ours.refused(), 0);
    let scoreboard = try_all(&of_dropshot().unwrap(), &folder).unwrap();
    assert_eq!(scoreboard.mistakes(), Vec::<String>::new());
    expectorate::assert_contents("tests/dropshot.md", &scoreboard.to_string());
}
