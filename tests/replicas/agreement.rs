//! Once a replica has answered, all of them agree at once: requests go to every replica directly, not
//! through the balancer, at the same time or one right after the other.

use futures::future::join_all;
use serde_json::{Value, json};
use test_support::caller::{Answer, Caller, Request};
use test_support::service::Device;
use uuid::Uuid;

use crate::fleet::Fleet;

const PRODUCTS: &str = "/api/v1/products";
const TOKEN: &str = "/api/auth/mobile/token";

/// How many of the concurrent requests each replica gets.
const EACH: usize = 4;

impl Fleet {
    /// The same request to every replica, several times, all at once.
    async fn at_once(&self, request: &Request) -> Vec<Answer> {
        let callers: Vec<_> = self.callers().collect();
        let sent = callers
            .iter()
            .flat_map(|caller| std::iter::repeat_with(|| caller.send(request.clone())).take(EACH));
        join_all(sent).await
    }

    /// The same request to one replica after the other.
    async fn in_turn(&self, request: &Request) -> Vec<Answer> {
        let mut answers = Vec::new();
        for caller in self.callers() {
            answers.push(caller.send(request.clone()).await);
        }
        answers
    }

    fn callers(&self) -> impl Iterator<Item = Caller> {
        self.replicas
            .iter()
            .map(|replica| Caller::new(replica.url()))
    }
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    let mut statuses: Vec<_> = answers.iter().map(Answer::status).collect();
    statuses.sort_unstable();
    statuses
}

/// One status of the first kind, and all others of the second.
fn one(of: u16, others: u16) -> Vec<u16> {
    let mut statuses = vec![others; 3 * EACH];
    statuses[0] = of;
    statuses.sort_unstable();
    statuses
}

fn links(device: &Device, access_token: &str) -> Request {
    Request::new("GET", device.links())
        .bearer(access_token)
        .header("x-team-id", &device.team_id)
}

fn exchange(grant: &Value) -> Request {
    Request::new("POST", TOKEN).json(grant)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn products_idempotency_and_skus_are_those_of_one_service() {
    let fleet = Fleet::start(&[]);
    let team = fleet.service.new_team().unwrap();
    let sku = Uuid::new_v4().to_string();
    let product = json!({ "name": "once", "unitPrice": 1, "currency": "EUR", "sku": sku });
    let create = Request::new("POST", PRODUCTS)
        .bearer(&team.live)
        .json(&product);

    let keyed = create
        .clone()
        .header("idempotency-key", Uuid::new_v4().to_string());
    let answers = fleet.at_once(&keyed).await;
    let replayed = |answer: &&Answer| answer.header("idempotency-replayed").is_some();
    assert_eq!(statuses(&answers), [201; 3 * EACH]);
    assert_eq!(answers.iter().filter(replayed).count(), 3 * EACH - 1);
    let created = answers[0].data();
    assert!(answers.iter().all(|answer| answer.data() == created));

    // The sku is taken in every replica, and free in every one as soon as it is given up in one.
    assert_eq!(statuses(&fleet.in_turn(&create).await), [409; 3]);
    let archive = format!("{PRODUCTS}/{}", created["id"].as_str().unwrap());
    let archive = Request::new("DELETE", archive).bearer(&team.live);
    assert_eq!(statuses(&fleet.at_once(&archive).await), one(204, 409));
    assert_eq!(statuses(&fleet.at_once(&create).await), one(201, 409));
    let list = Request::new("GET", PRODUCTS).bearer(&team.live);
    for page in fleet.in_turn(&list).await {
        assert_eq!(page.data()["data"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_gets_the_same_pair_from_every_replica() {
    let fleet = Fleet::start(&[]);
    let team = fleet.service.new_team().unwrap();
    let device = fleet.service.device(&team).await.unwrap();
    let refresh = exchange(&device.refresh_grant(&device.refresh_token));
    let answers = [fleet.at_once(&refresh).await, fleet.in_turn(&refresh).await].concat();
    let pair = |answer: &Answer| {
        let tokens = answer.clone().expect_status(200).json();
        [
            tokens["access_token"].clone(),
            tokens["refresh_token"].clone(),
        ]
    };
    let first = pair(&answers[0]);
    assert!(answers.iter().all(|answer| pair(answer) == first));
    let access_token = first[0].as_str().unwrap();
    assert_eq!(
        statuses(&fleet.in_turn(&links(&device, access_token)).await),
        [200; 3]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_is_used_once_among_all_replicas() {
    let fleet = Fleet::start(&[]);
    let team = fleet.service.new_team().unwrap();
    let device = fleet.service.device(&team).await.unwrap();
    let code = fleet.service.authorization_code(&device).unwrap();
    let answers = fleet.at_once(&exchange(&device.code_grant(&code))).await;
    assert_eq!(statuses(&answers), one(200, 400));
    // The second use has ended the session that the first started.
    let begun = answers
        .iter()
        .find(|answer| answer.status() == 200)
        .unwrap();
    let tokens = begun.json();
    let access_token = tokens["access_token"].as_str().unwrap();
    assert_eq!(
        statuses(&fleet.in_turn(&links(&device, access_token)).await),
        [401; 3]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_revoked_is_revoked_in_every_replica_with_no_delay() {
    let fleet = Fleet::start(&[]);
    let team = fleet.service.new_team().unwrap();
    let device = fleet.service.device(&team).await.unwrap();
    let run = |arguments: &[&str]| fleet.service.command(arguments).unwrap();
    let in_turn = async |request: &Request| statuses(&fleet.in_turn(request).await);

    let list = Request::new("GET", PRODUCTS).bearer(&team.live);
    assert_eq!(in_turn(&list).await, [200; 3]);
    let keys = run(&["api-key", "list", "--team", &team.id]);
    for key in keys.as_array().unwrap() {
        run(&["api-key", "revoke", key["id"].as_str().unwrap()]);
    }
    assert_eq!(in_turn(&list).await, [401; 3]);

    let links = links(&device, &device.access_token);
    assert_eq!(in_turn(&links).await, [200; 3]);
    let (team_id, user_id) = (&device.team_id, &device.user_id);
    run(&["member", "remove", "--team", team_id, "--user", user_id]);
    assert_eq!(in_turn(&links).await, [403; 3]);
    run(&[
        "member", "add", "--team", team_id, "--user", user_id, "--role", "viewer",
    ]);
    assert_eq!(in_turn(&links).await, [200; 3]);
    let sessions = run(&["session", "list", "--user", user_id]);
    run(&["session", "revoke", sessions[0]["id"].as_str().unwrap()]);
    assert_eq!(in_turn(&links).await, [401; 3]);
}
