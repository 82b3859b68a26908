//! A signed-in user, and what they may have piled up.

use std::time::{Duration, Instant};

use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::service::Service;
use uuid::Uuid;

use crate::BINARY;
use crate::people::{ORIGIN, Piled, pile_up, signed_in, signed_in_as};

/// A signed-in user who owns a team.
pub struct Somebody {
    pub service: Service,
    pub user: Uuid,
    pub team: Uuid,
    pub cookie: String,
}

impl Somebody {
    pub async fn new() -> Result<Somebody, Skip> {
        Somebody::with(&[]).await
    }

    /// The same, of a server with these settings.
    pub async fn with(settings: &[(&str, &str)]) -> Result<Somebody, Skip> {
        let settings = [&[("INVOICING_ORIGIN", ORIGIN)], settings].concat();
        let service = Service::own(BINARY, &settings)?;
        let team = service.new_team()?.id;
        let (user, cookie) = signed_in(&service).await?;
        let id = user.to_string();
        service.command(&[
            "member", "add", "--team", &team, "--user", &id, "--role", "owner",
        ])?;
        let uri = "com.example.app:/signed-in";
        service.command(&[
            "oauth-client",
            "create",
            "--id",
            "app",
            "--name",
            "App",
            "--redirect-uri",
            uri,
        ])?;
        Ok(Somebody {
            team: team.parse().expect("an id"),
            service,
            user,
            cookie,
        })
    }

    /// Ended keys, both expired and revoked.
    pub fn pile_up_keys(&self, count: u32) -> Result<(), Skip> {
        let columns =
            "api_key (id, team_id, digest, mode, scope, created_at, expires_at, revoked_at)";
        let ids = [Piled::New, Piled::Id(&self.team), Piled::Digest];
        for ends in ["2, NULL", "NULL, 2"] {
            let rest = format!("'test', 'read-only', 1, {ends}");
            pile_up(&self.service, columns, count / 2, &ids, &rest)?;
        }
        Ok(())
    }

    /// Products with as much text as allowed.
    pub fn pile_up_large_products(&self, count: u32) -> Result<(), Skip> {
        let columns = "product (id, team_id, mode, status, name, unit_price, currency, description, created_at, updated_at)";
        let ids = [Piled::New, Piled::Id(&self.team)];
        let description = "\u{1d11e}".repeat(2_000);
        let rest = format!("'live', 'active', 'Lamp', '1', 'EUR', '{description}', 1, 1");
        pile_up(&self.service, columns, count, &ids, &rest)
    }

    /// Adds another member to the team, and returns their cookie.
    pub async fn new_colleague(&self, number: u32, role: &str) -> Result<String, Skip> {
        let email = format!("colleague-{number}@example.com");
        let (user, cookie) = signed_in_as(&self.service, &email).await?;
        let (team, user) = (self.team.to_string(), user.to_string());
        self.service.command(&[
            "member", "add", "--team", &team, "--user", &user, "--role", role,
        ])?;
        Ok(cookie)
    }

    /// Sign-ins from before the period that the account page shows.
    pub fn pile_up_sign_ins(&self, count: u32) -> Result<(), Skip> {
        let columns = "audit_event (actor, id, action, created_at)";
        let long_ago = now() - 100 * 86_400_000;
        // The first id of that millisecond, and later ones: UUIDv7s.
        let id = match self.service.own_database()?.starts_with("sqlite:") {
            true => format!("CAST(x'{long_ago:012x}' || randomblob(10) AS BLOB)"),
            false => format!(
                "('{}' || substr(gen_random_uuid()::text, 14))::uuid",
                Uuid::from_u128(long_ago << 80).to_string().split_at(13).0
            ),
        };
        let rest = format!("{id}, 'sign-in', {long_ago}");
        pile_up(
            &self.service,
            columns,
            count,
            &[Piled::Id(&self.user)],
            &rest,
        )
    }

    /// Live browser sessions.
    pub fn pile_up_browsers(&self, count: u32) -> Result<(), Skip> {
        self.pile_up_browsers_called(count, "")
    }

    pub fn pile_up_browsers_called(&self, count: u32, user_agent: &str) -> Result<(), Skip> {
        let columns = "browser_session (id, user_id, digest, created_at, signed_in_at, last_used_at, user_agent)";
        let ids = [Piled::New, Piled::Id(&self.user), Piled::Digest];
        let now = now();
        pile_up(
            &self.service,
            columns,
            count,
            &ids,
            &format!("{now}, {now}, {now}, '{user_agent}'"),
        )
    }

    /// Live sessions of apps.
    pub fn pile_up_apps(&self, count: u32) -> Result<(), Skip> {
        self.pile_up_apps_called(count, "")
    }

    pub fn pile_up_apps_called(&self, count: u32, user_agent: &str) -> Result<(), Skip> {
        self.pile_up_sessions(count, &format!("NULL, '{user_agent}'"))
    }

    /// Sessions of apps that have just ended, which the background task has yet to delete.
    pub fn pile_up_ended(&self, count: u32) -> Result<(), Skip> {
        // A minute ahead, so that they last for the whole test.
        self.pile_up_sessions(count, &format!("{}, NULL", now() + 60_000))
    }

    /// `ends` gives when they ended, and the user agent.
    fn pile_up_sessions(&self, count: u32, ends: &str) -> Result<(), Skip> {
        let columns = "session (id, user_id, client_id, created_at, last_used_at, expires_at, ended_at, user_agent)";
        let (ids, now) = ([Piled::New, Piled::Id(&self.user)], now());
        let rest = format!("'app', {now}, {now}, {}, {ends}", now + 86_400_000);
        pile_up(&self.service, columns, count, &ids, &rest)
    }

    /// Share links of the team, each on a different item.
    pub fn pile_up_links(&self, count: u32) -> Result<(), Skip> {
        let columns = "share_link (id, team_id, item_id, secret, created_by, item_type, audience, can_view, \
             can_download, created_at, updated_at)";
        let ids = [
            Piled::New,
            Piled::Id(&self.team),
            Piled::New,
            Piled::Text,
            Piled::Id(&self.user),
        ];
        let rest = "'file', 'public', true, false, 1, 1";
        pile_up(&self.service, columns, count, &ids, rest)
    }

    /// Used codes, each of which stays as long as the session that it started.
    pub fn pile_up_used_codes(&self, count: u32) -> Result<(), Skip> {
        self.pile_up_apps(1)?;
        let columns = "auth_code (digest, code_challenge, user_id, client_id, redirect_uri, expires_at, session_id)";
        let ids = [Piled::Digest, Piled::Digest, Piled::Id(&self.user)];
        let rest = "'app', 'com.example.app:/signed-in', 1, (SELECT id FROM session LIMIT 1)";
        pile_up(&self.service, columns, count, &ids, rest)
    }

    pub async fn send(&self, request: Request, status: u16) -> Duration {
        let begun = Instant::now();
        let answer = self
            .service
            .caller
            .send_unchecked(request.header("cookie", &self.cookie));
        let answer = answer.await.expect("an answer comes");
        assert_eq!(answer.status, status, "{answer:?}");
        begun.elapsed()
    }

    /// How long it takes until their export gets this status; `None` if it does not within a few
    /// seconds.
    pub async fn export_is(&self, status: u16) -> Option<Duration> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            let export = Request::new("GET", "/account/export").header("cookie", &self.cookie);
            let answer = self.service.caller.send_unchecked(export).await;
            if answer.expect("an answer comes").status == status {
                return Some(begun.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

/// Milliseconds since 1970.
fn now() -> u128 {
    let now = std::time::UNIX_EPOCH.elapsed();
    now.expect("it is later").as_millis()
}
