//! Shows the checker a history that keeps every promise, and then the same with one promise broken.

use serde_json::json;

use super::*;
use crate::response_validator::Received;

/// A history that grows by one operation every 10 ms, each of which takes 5 ms.
#[derive(Default)]
struct Scenario(Vec<Operation>);

impl Scenario {
    fn add(&mut self, asked: Asked, answer: Option<Received>) -> &mut Self {
        let invoked = Duration::from_millis(10 * self.0.len() as u64);
        self.0.push(Operation {
            asked,
            replica: 0,
            invoked,
            returned: invoked + Duration::from_millis(5),
            answer,
        });
        self
    }

    fn change(&mut self, version: u64, answer: Option<Received>) -> &mut Self {
        let key = Some(format!("key-{version}"));
        let product = "p".to_owned();
        self.add(
            Asked::Change {
                product,
                version,
                key,
            },
            answer,
        )
    }

    fn archive(&mut self, answer: Option<Received>) -> &mut Self {
        let (product, version) = ("p".to_owned(), 3);
        self.add(
            Asked::Change {
                product,
                version,
                key: None,
            },
            answer,
        )
    }

    fn read(&mut self, answer: Option<Received>) -> &mut Self {
        let product = "p".to_owned();
        self.add(Asked::Read { product }, answer)
    }

    fn refresh(&mut self, token: &str, answer: Option<Received>) -> &mut Self {
        let token = token.to_owned();
        self.add(Asked::Refresh { token }, answer)
    }

    /// Asserts that the checker reports exactly this for the scenario, when this is the final catalog.
    #[track_caller]
    fn is(&self, catalog: &[Value], said: &[&str]) {
        let problems = check(&self.0, catalog);
        let says = |part: &&str| problems.iter().any(|problem| problem.contains(*part));
        assert!(
            said.iter().all(says),
            "{said:?} is not all of {problems:#?}"
        );
        assert!(!said.is_empty() || problems.is_empty(), "{problems:#?}");
    }
}

/// The product in this version; version 3 is archived.
fn product(version: u64) -> Value {
    json!({
        "id": "id-of-p", "name": "p", "unitPrice": version.min(2), "description": version.min(2),
        "status": if version < 3 { "active" } else { "archived" },
        "createdAt": "t1", "updatedAt": format!("t{version}"),
    })
}

fn answer(status: u16, body: &Value) -> Option<Received> {
    let body = body.to_string().into_bytes();
    Some(Received {
        status,
        headers: Vec::new(),
        body,
    })
}

fn shows(product: &Value) -> Option<Received> {
    answer(200, &json!({ "data": product }))
}

fn replays(product: &Value) -> Option<Received> {
    let mut received = shows(product);
    let header = ("idempotency-replayed".to_owned(), "true".to_owned());
    received
        .iter_mut()
        .for_each(|received| received.headers.push(header.clone()));
    received
}

fn pair_of(number: u8) -> Option<Received> {
    let tokens =
        json!({ "access_token": format!("a{number}"), "refresh_token": format!("r{number}") });
    answer(200, &tokens)
}

/// Created and changed, both acknowledged.
fn two_versions() -> Scenario {
    let mut scenario = Scenario::default();
    scenario
        .change(1, shows(&product(1)))
        .change(2, shows(&product(2)));
    scenario
}

#[test]
fn a_service_that_keeps_its_promises_while_answers_are_lost() {
    Scenario::default()
        .change(1, None)
        .change(1, answer(503, &json!({})))
        .change(1, replays(&product(1)))
        .read(shows(&product(1)))
        .change(2, None)
        .read(shows(&product(2)))
        .change(2, replays(&product(2)))
        .archive(None)
        .archive(answer(409, &json!({})))
        .read(shows(&product(3)))
        .refresh("r0", None)
        .refresh("r0", pair_of(1))
        .refresh("r0", pair_of(1))
        .refresh("r1", pair_of(2))
        .is(&[product(3)], &[]);
}

#[test]
fn a_lost_product() {
    two_versions().is(&[], &["version 0, but 2 to 2 could be seen"]);
}

#[test]
fn a_lost_change() {
    two_versions().is(&[product(1)], &["version 1, but 2 to 2 could be seen"]);
}

#[test]
fn a_lost_archiving() {
    let mut scenario = two_versions();
    scenario.archive(answer(204, &Value::Null));
    scenario.is(&[product(3)], &[]);
    scenario.is(&[product(2)], &["version 2, but 3 to 3 could be seen"]);
}

#[test]
fn a_product_that_is_there_twice() {
    let mut twin = product(2);
    twin["id"] = "another".into();
    two_versions().is(&[product(2), twin], &["listed 2 times"]);
}

#[test]
fn a_key_that_was_executed_twice() {
    let mut again = product(1);
    again["id"] = "another".into();
    let mut scenario = Scenario::default();
    scenario
        .change(1, shows(&product(1)))
        .change(1, shows(&again));
    scenario.is(&[product(1)], &["executed 2 times", "several results"]);
}

#[test]
fn a_replay_of_something_else() {
    let mut later = product(2);
    later["updatedAt"] = "t9".into();
    let mut scenario = two_versions();
    scenario.change(2, replays(&later));
    scenario.is(&[product(2)], &["key key-2 has several results"]);
}

#[test]
fn a_replay_of_an_older_answer() {
    let mut scenario = two_versions();
    scenario.change(2, replays(&product(1)));
    scenario.is(&[product(2)], &["answered with version 1"]);
}

#[test]
fn a_read_behind_what_was_acknowledged() {
    let mut scenario = two_versions();
    scenario.read(shows(&product(1)));
    scenario.is(&[product(2)], &["version 1, but 2 to 2 could be seen"]);
}

#[test]
fn a_read_that_is_taken_back() {
    let mut scenario = Scenario::default();
    scenario.change(1, shows(&product(1))).change(2, None);
    scenario.read(shows(&product(2))).read(shows(&product(1)));
    scenario.change(2, shows(&product(2)));
    scenario.is(&[product(2)], &["version 1, but 2 to 2 could be seen"]);
}

#[test]
fn a_read_of_what_nobody_asked_for() {
    let mut scenario = Scenario::default();
    scenario
        .change(1, shows(&product(1)))
        .read(shows(&product(2)));
    scenario.is(&[product(1)], &["version 2, but 1 to 1 could be seen"]);
    two_versions().is(
        &[product(2), json!({ "name": "q" })],
        &["nobody asked for product q"],
    );
}

#[test]
fn a_change_that_is_half_there() {
    let mut half = product(2);
    half["description"] = Value::Null;
    two_versions().is(&[half], &["version 2: "]);

    let mut half = product(3);
    half["description"] = Value::Null;
    let mut scenario = two_versions();
    scenario.archive(answer(204, &Value::Null));
    scenario.is(&[half], &["came to version 3"]);
}

#[test]
fn a_change_that_does_not_move_the_time_of_change() {
    let mut stuck = product(2);
    stuck["updatedAt"] = "t1".into();
    let mut scenario = Scenario::default();
    scenario
        .change(1, shows(&product(1)))
        .change(2, shows(&stuck));
    scenario.is(&[stuck], &["came to version 2"]);
}

#[test]
fn a_request_that_is_refused() {
    let mut scenario = two_versions();
    scenario.change(2, answer(409, &json!({})));
    scenario.is(&[product(2)], &["refused"]);

    let mut scenario = two_versions();
    scenario.archive(answer(409, &json!({})));
    scenario.is(&[product(3)], &["refused"]);

    let mut scenario = two_versions();
    scenario.read(answer(500, &json!({})));
    scenario.is(&[product(2)], &["refused"]);
}

#[test]
fn a_request_that_cannot_be_repeated() {
    let mut scenario = two_versions();
    scenario.archive(None);
    scenario.is(&[product(2)], &["in doubt for ever"]);
}

#[test]
fn a_refresh_whose_lost_answer_cannot_be_had_again() {
    let mut scenario = Scenario::default();
    scenario
        .refresh("r0", None)
        .refresh("r0", answer(400, &json!({})));
    scenario.is(&[], &["refused"]);
}

#[test]
fn a_refresh_token_that_gives_two_pairs() {
    let mut scenario = Scenario::default();
    scenario.refresh("r0", pair_of(1)).refresh("r0", pair_of(2));
    scenario.is(&[], &["gave 2 pairs"]);
}

#[test]
fn two_refresh_tokens_that_give_one_pair() {
    let mut scenario = Scenario::default();
    scenario.refresh("r0", pair_of(1)).refresh("r1", pair_of(1));
    scenario.is(&[], &["gave one pair"]);
}
