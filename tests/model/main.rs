//! Random operations of several clients against a model of the interface.
//!
//! A plan is a list of operations, with so few possible values that they get in each other's way: skus
//! and idempotency keys are reused, products of other teams and modes are addressed. The plan runs on a
//! server and on [`model::Model`], the interface in memory; every answer must be the model's. A plan
//! that diverges is shrunk to one that still does.
//!
//! | Variable | |
//! |---|---|
//! | `INVOICING_MODEL_PLANS` | how many plans are tried; 24 unless set |
//! | `INVOICING_MODEL_STEPS` | the most operations of one plan; 60 unless set |
//! | `INVOICING_MODEL_SEED` | the seed of a run that failed, to repeat it |

mod model;
mod plan;
mod run;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use test_support::given;
use test_support::service::Service;

use run::Stage;

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// Reads a number from a variable.
fn size(variable: &str, default: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number"))
    })
}

#[test]
fn the_service_answers_as_the_model_does() {
    let plans = size("INVOICING_MODEL_PLANS", 24);
    let steps = usize::try_from(size("INVOICING_MODEL_STEPS", 60)).expect("it fits");
    let seed = size("INVOICING_MODEL_SEED", rand_seed());
    let config = Config {
        cases: u32::try_from(plans).expect("it fits"),
        max_shrink_iters: 300,
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);

    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let service = Service::find(BINARY);
    // A deployment without its database has no fresh teams.
    drop(given!(Stage::new(&service)));
    let outcome = runner.run(
        &proptest::collection::vec(plan::step(), 1..=steps),
        |plan| {
            let stage = Stage::new(&service).expect("it was possible before");
            runtime
                .block_on(stage.run(&plan))
                .map_err(TestCaseError::fail)
        },
    );
    if let Err(failure) = outcome {
        panic!("{failure}\n\nTo repeat: INVOICING_MODEL_SEED={seed}");
    }
}

/// A seed that differs from run to run.
fn rand_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.subsec_nanos().into())
}
