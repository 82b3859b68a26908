//! The document that the running traits describe themselves with, against the published one.
//!
//! 1. dropshot knows errors only as `4XX` and `5XX`, so that the published error statuses are folded
//!    into those two. Statuses that fold into one and have different schemas cannot be what the
//!    traits answer, and fail.
//! 2. `drift` compares the rest. Anything but a trivial difference fails, and so does what it gives
//!    up on.
//! 3. What `drift` does not look at, or calls trivial, is compared exactly: operationIds, tags,
//!    parameters, the headers of successes, and of schemas `nullable`, `default` and `discriminator`.
//!
//! dropshot says nothing about security and about the headers of errors. Those are proven by
//! behaviour: by the answers of `tests/contract`.

mod broken;
mod fold;
mod running;
mod same;

use std::panic::{AssertUnwindSafe, catch_unwind};

use drift::ChangeClass;
use serde_json::Value;
use test_support::document::Document;

/// Every difference between the published document and the emitted one, in words.
pub fn differences(published: &Value, emitted: &Value) -> Vec<String> {
    let (folded, mut differences) = fold::folded(published);
    differences.extend(drift(&folded, emitted));
    let folded = Document::from_json("published", folded);
    let emitted = Document::from_json("emitted", emitted.clone());
    differences.extend(same::differences(&folded, &emitted));
    differences
}

/// Step 2.
fn drift(published: &Value, emitted: &Value) -> Vec<String> {
    let compared = catch_unwind(AssertUnwindSafe(|| drift::compare(published, emitted)));
    let changes = match compared {
        Ok(Ok(changes)) => changes,
        Ok(Err(error)) => return vec![format!("drift cannot compare: {error:#}")],
        Err(_) => return vec!["drift gave up on a difference".to_owned()],
    };
    changes
        .iter()
        .flat_map(|change| {
            let paths: Vec<_> = change
                .paths
                .iter()
                .map(|path| path.new.to_string())
                .collect();
            change
                .changes
                .iter()
                .filter(|info| info.class != ChangeClass::Trivial)
                .map(move |info| {
                    format!(
                        "{} {}: {}",
                        paths.join(", "),
                        info.new_subpath,
                        info.message
                    )
                })
        })
        .collect()
}
