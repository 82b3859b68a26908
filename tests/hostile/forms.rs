//! A form with many fields takes no more memory than its bytes, however long the work on it takes.

use futures::future::join_all;
use rusqlite::Connection;
use test_support::caller::Request;
use test_support::given;
use test_support::service::Service;

use crate::process::Process;
use crate::{BINARY, attack};

/// How many forms are in progress at once.
const FORMS: usize = 60;

/// What they may take: their bytes, twice, and what each request takes anyway. Thirty thousand parsed fields took 150.
const MAX_GROWTH_MIB: f64 = 32.0;

#[tokio::test]
async fn a_form_of_as_many_fields_as_there_may_be_takes_no_more_than_its_bytes() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(
        BINARY,
        &[("INVOICING_TRANSFER_MEMORY", "1024")]
    ));
    let file = given!(service.own_database())
        .strip_prefix("sqlite:")
        .map(Connection::open);
    let Some(Ok(database)) = file else {
        panic!("a file of SQLite's");
    };
    // Each waits for the lock, with everything that it holds.
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let field = format!("&a={}", "x".repeat(640));
    for (fields, status) in [(field.repeat(98), 503), ("&a".repeat(32_000), 400)] {
        let revoke = Request::new("POST", "/api/auth/mobile/revoke")
            .text(format!("token=t&client_id=c{fields}"))
            .without_header("content-type")
            .header("content-type", "application/x-www-form-urlencoded");
        let memory = Process::of(&service).watch();
        let send = |_| service.caller.send_unchecked(revoke.clone());
        let answers = join_all((0..FORMS).map(send)).await;
        let growth = memory.growth();
        for answer in answers {
            assert_eq!(answer.expect("an answer comes").status, status);
        }
        assert!(growth <= MAX_GROWTH_MIB, "memory grew by {growth:.0} MiB");
    }
}
