//! Documents with random mistakes: for each, the generator must either report what is wrong or generate something
//! that compiles, within five seconds of processor time and without a panic.
//!
//! The documents are those of the scoreboard: those for tests, dropshot's own, and those of the folder in
//! `CODEGEN_DOCUMENTS`. `CODEGEN_MUTATIONS` sets how many mutations to try (default 400), `CODEGEN_SEED` which ones.
//! The seed is printed, and repeats a failing case. `CODEGEN_COMPILED` of those that are accepted are compiled
//! (default 0: the first time takes minutes).

mod mistakes;
mod part;

use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use fastrand::Rng;
use openapi_dropshot::Document;
use openapi_dropshot_scoreboard::{build, documents, of_dropshot, of_tests};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use test_support::document::repository;

/// How much processor time a case may take, unoptimized.
const LIMIT: Duration = Duration::from_secs(5);

/// When a case counts as endless: on a shared processor, waiting takes longer than working.
const PATIENCE: Duration = Duration::from_secs(120);

/// The result of a case.
struct Tried {
    case: u64,
    is_accepted: bool,
    /// The processor time.
    took: Duration,
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn sources() -> Vec<Value> {
    let mut paths = of_tests().unwrap();
    paths.extend(of_dropshot().unwrap());
    if let Some(folder) = std::env::var_os("CODEGEN_DOCUMENTS") {
        paths.extend(documents(&PathBuf::from(folder)).unwrap());
    }
    let read = |path| openapi_dropshot::source(path).unwrap_or_else(|problem| panic!("{problem}"));
    paths.into_iter().map(read).collect()
}

/// The mutated document of a case.
fn mutant(sources: &[Value], case: u64) -> String {
    let mut random = Rng::with_seed(case);
    let source = &sources[random.usize(..sources.len())];
    let mut document = part::of(source, &mut random);
    for _ in 0..random.usize(1..4) {
        mistakes::mutate(&mut document, &mut random);
    }
    document.to_string()
}

/// Tries the cases one after another, and reports each.
fn try_all(sources: &[Value], cases: std::ops::Range<u64>, told: &Sender<Tried>) {
    for case in cases {
        let start = processor_time();
        let read = Document::parse("mutated", &mutant(sources, case), "mutated");
        if let Ok(document) = &read {
            openapi_dropshot::server(document).unwrap_or_else(|problems| panic!("{problems}"));
            openapi_dropshot::client(std::slice::from_ref(document), None, None)
                .unwrap_or_else(|problems| panic!("{problems}"));
        }
        // The receiver is gone if an earlier case took too long.
        let tried = Tried {
            case,
            is_accepted: read.is_ok(),
            took: processor_time().saturating_sub(start),
        };
        if told.send(tried).is_err() {
            return;
        }
    }
}

/// The processor time of this thread so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The accepted cases of these.
fn accepted(seed: u64, count: u64) -> Vec<u64> {
    let (told, heard) = mpsc::channel();
    let sources = sources();
    std::thread::spawn(move || try_all(&sources, seed..seed + count, &told));
    let mut accepted = Vec::new();
    for case in seed..seed + count {
        let again = format!("CODEGEN_SEED={case} CODEGEN_MUTATIONS=1");
        let tried = heard.recv_timeout(PATIENCE);
        let tried = tried.unwrap_or_else(|error| panic!("{again}: {error}"));
        assert!(tried.took < LIMIT, "{again}: took {:?}", tried.took);
        accepted.extend(tried.is_accepted.then_some(tried.case));
    }
    accepted
}

#[test]
fn no_mutation_makes_the_generator_panic_hang_or_write_what_does_not_compile() {
    let seed = variable("CODEGEN_SEED", 1);
    let count = variable("CODEGEN_MUTATIONS", 400);
    println!("CODEGEN_SEED={seed} CODEGEN_MUTATIONS={count}");
    let accepted = accepted(seed, count);
    println!("{} of {count} documents were accepted", accepted.len());
    // Otherwise nothing but refusals would have been tried.
    assert!(count < 100 || accepted.len() as u64 > count / 50);
    let sources = sources();
    let compiled = variable("CODEGEN_COMPILED", 0) as usize;
    let crates: Vec<_> = Rng::with_seed(seed)
        .choose_multiple(accepted, compiled)
        .into_iter()
        .map(|case| {
            let text = mutant(&sources, case);
            let document = Document::parse("mutated", &text, "mutated").unwrap();
            build::Crate::of(&format!("mutation-{case}"), &document).unwrap()
        })
        .collect();
    let built = build::all(&crates, &repository().join("target/mutations")).unwrap();
    let broken: Vec<_> = built.iter().filter(|(_, it)| it.is_err()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn no_text_makes_the_generator_panic() {
    let folder = repository().join("codegen/tests/documents");
    let texts = ["petstore.yaml", "parcels.yaml", "shapes.json"]
        .map(|file| std::fs::read_to_string(folder.join(file)).unwrap());
    let put = [
        "", " ", "\n", "&a ", "*a", "- ", ": ", "{", "]", "\"", "!!x ", "\u{0}", "|",
    ];
    let mut random = Rng::with_seed(variable("CODEGEN_SEED", 1));
    for _ in 0..variable("CODEGEN_MUTATIONS", 400) {
        let mut text: Vec<char> = texts[random.usize(..texts.len())].chars().collect();
        for _ in 0..random.usize(1..5) {
            let from = random.usize(..text.len());
            let to = (from + random.usize(..40)).min(text.len());
            text.splice(from..to, put[random.usize(..put.len())].chars());
        }
        let text: String = text.into_iter().collect();
        // Accepted or refused: either is fine.
        let _ = Document::parse("mutated", &text, "mutated");
    }
}
