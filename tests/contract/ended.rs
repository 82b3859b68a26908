//! A read that has waited for the database is refused once its caller has lost the right to it.

use test_support::caller::{Answer, Request};
use test_support::deployment::Skip;
use test_support::given;
use test_support::postgres::{Locked, until_lock_waits};

use crate::given::{Given, PRODUCTS, given_own, product};

impl Given {
    /// Runs this command while a read waits for this table, and returns the answer.
    async fn answers_after(&self, end: &[&str], read: Request, table: &str) -> Answer {
        self.send(read.clone()).await.expect_status(200);
        let database = self.service.own_database().expect("an own server");
        let locked = Locked::by(database, &format!("LOCK TABLE {table}"));
        let end = async {
            until_lock_waits(database, 1).await;
            self.service.command(end).expect("an own server");
            drop(locked);
        };
        let (answer, ()) = tokio::join!(self.send(read), end);
        answer
    }

    /// A new key of the team, and its id.
    fn key(&self) -> Result<[String; 2], Skip> {
        let create = ["api-key", "create", "--team", &self.team.id];
        let create = [&create[..], &["--mode", "live", "--scope", "read-only"]].concat();
        let made = self.service.command(&create)?;
        Ok(["key", "id"].map(|name| made[name].as_str().expect("text").to_owned()))
    }
}

/// On SQLite, no read waits for anything.
#[tokio::test]
async fn a_read_that_waits_for_postgresql_is_refused_once_its_key_or_session_has_ended() {
    let given = given!(given_own(&[]));
    if given!(given.service.own_database()).starts_with("sqlite:") {
        return;
    }
    let created = given.created(&product()).await;
    let one = format!("{PRODUCTS}/{}", created["id"].as_str().expect("an id"));
    for path in [PRODUCTS, &one] {
        let [key, id] = given!(given.key());
        let read = Request::new("GET", path).bearer(&key);
        let end = ["api-key", "revoke", &id];
        let answer = given.answers_after(&end, read, "product").await;
        answer.expect(401, "invalid_token");
    }
    let device = given!(given.device().await);
    let links = Request::new("GET", device.links()).bearer(&device.access_token);
    let links = links.header("x-team-id", &device.team_id);
    let end = ["session", "revoke", "--client", &device.client_id];
    let answer = given.answers_after(&end, links, "share_link").await;
    answer.expect(401, "invalid_token");
}

#[tokio::test]
async fn a_list_of_links_that_waits_for_postgresql_is_refused_once_its_reader_is_removed() {
    let given = given!(given_own(&[]));
    if given!(given.service.own_database()).starts_with("sqlite:") {
        return;
    }
    let device = given!(given.device().await);
    let links = Request::new("GET", device.links()).bearer(&device.access_token);
    let links = links.header("x-team-id", &device.team_id);
    let (team, user) = (&device.team_id, &device.user_id);
    let end = ["member", "remove", "--team", team, "--user", user];
    let answer = given.answers_after(&end, links, "share_link").await;
    answer.expect(403, "not_a_member");
}
