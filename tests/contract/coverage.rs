//! Every operation and every status that it lists has a scenario that produces it.
//!
//! The operations and their statuses come from the documents: a status that no scenario produces fails.
//! A scenario proves itself: it returns the answer that it got, and fails if that is from another
//! operation or has another status. So a run in which all tests of this file pass has seen everything
//! that the documents promise.

use std::collections::BTreeSet;

use futures::future::{BoxFuture, join_all};
use test_support::caller::Answer;
use test_support::deployment::Skip;
use test_support::document;

use crate::scenarios::*;

/// Produces one answer of the named operation.
type Scenario<'a> = BoxFuture<'a, Result<Answer, Skip>>;

/// The scenario that leads an operation to a status: for most, the same as for any other.
fn scenario(operation: &str, status: u16) -> Scenario<'_> {
    match (status, operation) {
        (200 | 201 | 204, _) => Box::pin(success(operation)),
        (400, "exchange_token") => Box::pin(empty_object(operation)),
        (400, _) => Box::pin(unknown_parameter(operation)),
        (401, _) => Box::pin(no_credential(operation)),
        (403, "list_links") => Box::pin(other_team(operation)),
        (403, _) => Box::pin(read_only_key(operation)),
        (404, _) => Box::pin(nothing_there(operation)),
        (408, _) => Box::pin(slow_body(operation)),
        (409, "archive_product") => Box::pin(archived_before(operation)),
        (409, _) => Box::pin(taken_sku(operation)),
        (413, _) => Box::pin(large_body(operation)),
        (415, _) => Box::pin(form(operation)),
        (429, _) => Box::pin(too_many(operation)),
        (500, _) => Box::pin(broken_database(operation)),
        (503, _) => Box::pin(locked_database(operation)),
        _ => panic!("{operation} lists {status}, and nothing here leads to it"),
    }
}

/// For each status, a test that produces it for all operations that list it.
macro_rules! statuses {
    ($($status:literal $test:ident)*) => {
        const STATUSES: &[u16] = &[$($status),*];

        $(
            #[tokio::test]
            async fn $test() {
                produce($status).await;
            }
        )*
    };
}

statuses! {
    200 every_200_is_produced
    201 every_201_is_produced
    204 every_204_is_produced
    400 every_400_is_produced
    401 every_401_is_produced
    403 every_403_is_produced
    404 every_404_is_produced
    408 every_408_is_produced
    409 every_409_is_produced
    413 every_413_is_produced
    415 every_415_is_produced
    429 every_429_is_produced
    500 every_500_is_produced
    503 every_503_is_produced
}

/// What the documents list: each operation with each of its statuses.
fn listed() -> Vec<(String, u16)> {
    let documents = [document::catalog(), document::mobile()];
    let operations = documents.iter().flat_map(|document| &document.operations);
    operations
        .flat_map(|operation| {
            let statuses = operation.answers.keys();
            statuses.map(|status| (operation.id.clone(), *status))
        })
        .collect()
}

/// Produces the status for every operation that lists it.
async fn produce(status: u16) {
    let listed = listed().into_iter().filter(|(_, of)| *of == status);
    join_all(listed.map(|(operation, _)| async move {
        match scenario(&operation, status).await {
            Ok(answer) => {
                let produced = (answer.operation.as_deref(), answer.status());
                let expected = (Some(operation.as_str()), status);
                assert_eq!(produced, expected, "{}", answer.text());
            }
            Err(skip) => Skip(format!("{operation}: {}", skip.0)).print(),
        }
    }))
    .await;
}

#[test]
fn every_status_of_the_documents_has_a_test() {
    let listed: BTreeSet<u16> = listed().into_iter().map(|(_, status)| status).collect();
    let tested: BTreeSet<u16> = STATUSES.iter().copied().collect();
    assert_eq!(listed, tested, "one test for each status");
}
