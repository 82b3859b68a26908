//! What the clients of a service rely on, before and after it is moved.

use serde_json::{Value, json};
use test_support::caller::{Answer, Caller, Request};
use test_support::deployment::Skip;
use test_support::given;
use test_support::postgres::ask;
use test_support::service::{Device, Service};

use super::{cluster, copy};
use crate::place::Place;
use crate::server::Server;

const PRODUCTS: &str = "/api/v1/products";

/// The credentials and state of a service's clients when it is moved.
struct Clients {
    key: String,
    create: Request,
    created: Value,
    next_page: String,
    device: Device,
    code: String,
    spent: String,
    successor: Value,
}

async fn clients(service: &Service) -> Result<Clients, Skip> {
    let team = service.new_team()?;
    let device = service.device(&team).await?;
    let link = ["--file", &device.file_id, "--user", &device.user_id];
    service.command(&[&["link", "create"][..], &link].concat())?;
    let body = json!({ "name": "Beans", "unitPrice": 18.90, "currency": "EUR", "sku": "BEAN-1" });
    let create = Request::new("POST", PRODUCTS).bearer(&team.live);
    let create = create.json(&body).header("idempotency-key", "once");
    let created = service.caller.send(create.clone()).await.expect_status(201);
    let other = json!({ "name": "Milk", "unitPrice": 1, "currency": "EUR" });
    let other = Request::new("POST", PRODUCTS)
        .bearer(&team.live)
        .json(&other);
    service.caller.send(other).await.expect_status(201);
    let page = Request::new("GET", format!("{PRODUCTS}?limit=1")).bearer(&team.live);
    let page = service.caller.send(page).await.expect_status(200).data();
    let spent = device.refresh_token.clone();
    let refreshed = service.exchange(&device.refresh_grant(&spent)).await;
    Ok(Clients {
        key: team.live.to_string(),
        create,
        created: created.json(),
        next_page: page["nextCursor"].as_str().unwrap().to_owned(),
        code: service.authorization_code(&device)?,
        device,
        spent,
        successor: refreshed.expect_status(200).json(),
    })
}

impl Clients {
    /// Every request that can be repeated.
    async fn go_on(&self, caller: &Caller) {
        let get = |target: String, credential: &str| {
            caller.send(Request::new("GET", target).bearer(credential))
        };
        let page = get(
            format!("{PRODUCTS}?limit=1&after={}", self.next_page),
            &self.key,
        )
        .await;
        let page = page.expect_status(200).data();
        assert_eq!(
            page["data"][0]["name"], "Beans",
            "the page behind the cursor"
        );
        let again = caller.send(self.create.clone()).await.expect_status(201);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.json(), self.created);
        let team = self.device.team_id.as_str();
        let links = Request::new("GET", self.device.links()).header("x-team-id", team);
        let links = caller.send(links.bearer(&self.device.access_token)).await;
        let links = links.expect_status(200).data();
        assert_eq!(links["data"].as_array().map(Vec::len), Some(1));
    }

    async fn exchange(&self, caller: &Caller, grant: Value) -> Answer {
        let request = Request::new("POST", "/api/auth/mobile/token").json(&grant);
        caller.send(request).await
    }
}

/// A server on a database of the place.
fn serve(place: &Place, database: &str) -> (Server, Caller) {
    let settings = ["--listen", "127.0.0.1:0", "--log-format", "json"];
    let command = [&["serve", "--database", database][..], &settings].concat();
    let server = Server::start(&mut place.command(command));
    let caller = Caller::new(server.url.as_str());
    (server, caller)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_cursors_repeats_sessions_and_codes_go_on_working() {
    let service = given!(Service::own(env!("CARGO_BIN_EXE_invoicing"), &[]));
    let clients = given!(clients(&service).await);
    let place = Place::new();
    let new = cluster().database();
    copy(&place, given!(service.own_database()), &new);

    let (_server, caller) = serve(&place, &new);
    clients.go_on(&caller).await;
    let code = clients.device.code_grant(&clients.code);
    clients.exchange(&caller, code).await.expect_status(200);

    copy(&place, &new, "sqlite:back.db");
    let (_server, caller) = serve(&place, "sqlite:back.db");
    clients.go_on(&caller).await;
    let successor = clients.successor["refresh_token"].as_str().unwrap();
    let next = clients.device.refresh_grant(successor);
    clients.exchange(&caller, next).await.expect_status(200);
    let used = clients.device.code_grant(&clients.code);
    clients.exchange(&caller, used).await.expect_status(400);
}

/// S20: neither sealed pairs nor the keys that wrap them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pair_of_a_grace_stays_behind_and_its_repeat_ends_the_session_in_the_copy() {
    let service = given!(Service::own(env!("CARGO_BIN_EXE_invoicing"), &[]));
    let clients = given!(clients(&service).await);
    let place = Place::new();
    let (from, there) = (given!(service.own_database()), cluster().database());
    let copies = [
        copy(&place, from, "sqlite:backup.db"),
        copy(&place, from, &there),
        copy(&place, "sqlite:backup.db", "sqlite:another.db"),
    ];
    let lost = || clients.device.refresh_grant(&clients.spent);
    let again = service.exchange(&lost()).await.expect_status(200);
    assert_eq!(
        again.json()["refresh_token"],
        clients.successor["refresh_token"]
    );
    for copied in &copies {
        assert_eq!(copied["id"], copies[0]["id"], "{copied}");
    }
    let pairs = "SELECT count(*) FROM refresh_token WHERE successor IS NOT NULL";
    assert_eq!(ask(&there, pairs), "0");
    for name in ["backup.db", "another.db"] {
        let file = rusqlite::Connection::open(place.path(name)).unwrap();
        for left in [pairs, "SELECT count(*) FROM grace_key"] {
            let count: i64 = file.query_row(left, [], |row| row.get(0)).unwrap();
            assert_eq!(count, 0, "{name}: {left}");
        }
    }

    let (_server, caller) = serve(&place, "sqlite:backup.db");
    clients.go_on(&caller).await;
    let refused = clients.exchange(&caller, lost()).await.expect_status(400);
    assert_eq!(refused.json()["error"], "invalid_grant");
    let successor = clients.successor["refresh_token"].as_str().unwrap();
    let next = clients.device.refresh_grant(successor);
    clients.exchange(&caller, next).await.expect_status(400);
}
