//! Every operation and every status that it lists has a scenario that produces it.
//!
//! The table below is compared with the documents in both directions: a status that nobody produces
//! fails, and so does a scenario of a status that is no longer listed. A scenario proves itself: it
//! hands back the answer that it got, and fails when that is from another operation or has another
//! status. So a run in which all tests of this file pass has seen everything that the documents
//! promise.

use std::collections::BTreeSet;

use futures::future::{BoxFuture, join_all};
use test_support::caller::Answer;
use test_support::deployment::Skip;
use test_support::document;

use crate::scenarios::*;

/// Produces one answer of the named operation.
type Scenario = fn(&'static str) -> BoxFuture<'static, Result<Answer, Skip>>;

/// Answers that no test produces. The list may only shrink.
const EXCEPTIONS: [(&str, u16); 0] = [];

/// For each status, a test that runs the scenarios of all its operations at once, and their table.
macro_rules! scenarios {
    ($($status:literal $test:ident { $($operation:ident: $scenario:ident,)* })*) => {
        const SCENARIOS: &[(&str, u16, Scenario)] = &[
            $($((stringify!($operation), $status, |operation| Box::pin($scenario(operation))),)*)*
        ];

        $(
            #[tokio::test]
            async fn $test() {
                produce($status).await;
            }
        )*
    };
}

scenarios! {
    200 every_200_is_produced {
        list_products: success,
        get_product: success,
        update_product: success,
        exchange_token: success,
        list_links: success,
    }
    201 every_201_is_produced {
        create_product: success,
    }
    204 every_204_is_produced {
        archive_product: success,
    }
    400 every_400_is_produced {
        list_products: unknown_parameter,
        create_product: unknown_parameter,
        get_product: unknown_parameter,
        update_product: unknown_parameter,
        archive_product: unknown_parameter,
        exchange_token: empty_object,
        list_links: unknown_parameter,
    }
    401 every_401_is_produced {
        list_products: no_credential,
        create_product: no_credential,
        get_product: no_credential,
        update_product: no_credential,
        archive_product: no_credential,
        list_links: no_credential,
    }
    403 every_403_is_produced {
        create_product: read_only_key,
        update_product: read_only_key,
        archive_product: read_only_key,
        list_links: other_team,
    }
    404 every_404_is_produced {
        get_product: nothing_there,
        update_product: nothing_there,
        archive_product: nothing_there,
        list_links: nothing_there,
    }
    408 every_408_is_produced {
        create_product: slow_body,
        update_product: slow_body,
        exchange_token: slow_body,
    }
    409 every_409_is_produced {
        create_product: taken_sku,
        update_product: taken_sku,
        archive_product: archived_before,
    }
    413 every_413_is_produced {
        create_product: large_body,
        update_product: large_body,
        exchange_token: large_body,
    }
    415 every_415_is_produced {
        create_product: form,
        update_product: form,
        exchange_token: form,
    }
    429 every_429_is_produced {
        list_products: too_many,
        create_product: too_many,
        get_product: too_many,
        update_product: too_many,
        archive_product: too_many,
        exchange_token: too_many,
        list_links: too_many,
    }
    500 every_500_is_produced {
        list_products: broken_database,
        create_product: broken_database,
        get_product: broken_database,
        update_product: broken_database,
        archive_product: broken_database,
        exchange_token: broken_database,
        list_links: broken_database,
    }
    503 every_503_is_produced {
        list_products: locked_database,
        create_product: locked_database,
        get_product: locked_database,
        update_product: locked_database,
        archive_product: locked_database,
        exchange_token: locked_database,
        list_links: locked_database,
    }
}

/// Runs all scenarios of a status.
async fn produce(status: u16) {
    let scenarios = SCENARIOS.iter().filter(|(_, of, _)| *of == status);
    join_all(scenarios.map(|(operation, _, scenario)| async move {
        match scenario(operation).await {
            Ok(answer) => {
                let produced = (answer.operation.as_deref(), answer.status());
                assert_eq!(produced, (Some(*operation), status), "{}", answer.text());
            }
            Err(skip) => Skip(format!("{operation}: {}", skip.0)).print(),
        }
    }))
    .await;
}

#[test]
fn the_table_has_exactly_the_answers_that_the_documents_list() {
    let listed: BTreeSet<(String, u16)> = [document::catalog(), document::mobile()]
        .iter()
        .flat_map(|document| &document.operations)
        .flat_map(|operation| {
            let statuses = operation.answers.keys();
            statuses.map(|status| (operation.id.clone(), *status))
        })
        .collect();
    let own = |(operation, status): (&str, u16)| (operation.to_owned(), status);
    let produced: BTreeSet<_> = SCENARIOS
        .iter()
        .map(|(operation, status, _)| own((operation, *status)))
        .collect();
    let excepted: BTreeSet<_> = EXCEPTIONS.map(own).into();
    let missing: BTreeSet<_> = listed.difference(&produced).cloned().collect();
    assert_eq!(missing, excepted, "exactly the exceptions have no scenario");
    let unlisted: Vec<_> = produced.difference(&listed).collect();
    assert!(unlisted.is_empty(), "no document lists {unlisted:?}");
}
