//! A service over a separate database, with a clock that the test sets.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use invoicing::domain::audit::Actor;
use invoicing::app::App;
use invoicing::domain::catalog::Mode;
use invoicing::domain::api_key::{ApiKey, Scope, ShownApiKey};
use invoicing::domain::id::TeamId;
use invoicing::domain::Error;
use invoicing::domain::product::NewProduct;
use invoicing::domain::secret::Secret;
use invoicing::domain::time::{ManualClock, Timestamp};
use invoicing::mail::{Counts, Outbox};
use invoicing::settings::MailSettings;
use invoicing::store::Store;
use test_support::mail::{MailServer, Manner};

use super::engine::Database;

/// The time at which every test starts: 2026-11-20T21:49:00.123Z.
pub const START: Timestamp = Timestamp::from_millis(1_795_211_340_123);

/// Where strangers are who ask for a reset.
pub const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 99));

/// The origin under which people reach it, if it sends mail.
pub const ORIGIN: &str = "https://links.example";

/// A service over a separate database, which is kept if the test fails.
pub struct Service {
    pub app: Arc<App>,
    pub store: Arc<Store>,
    pub clock: Arc<ManualClock>,
    database: Option<Database>,
}

impl Service {
    pub async fn new() -> Service {
        let database = Database::migrated();
        Service::on(database.open().await, Some(database)).await
    }

    /// A service on this store, whose database it keeps if the test fails.
    pub async fn on(store: Arc<Store>, database: Option<Database>) -> Service {
        let clock = Arc::new(ManualClock::new(START));
        let app = App::new(store.clone(), clock.clone(), "https://links.example")
            .await
            .unwrap();
        Service {
            app: Arc::new(app),
            store,
            clock,
            database,
        }
    }

    /// The same, with mail.
    pub async fn mailing() -> (Service, MailServer) {
        let mut service = Service::new().await;
        let mail = MailServer::start(Manner::Takes);
        service.app = Arc::new(mailing(service.another().await, &mail));
        (service, mail)
    }

    /// A new team's id.
    pub async fn team(&self) -> TeamId {
        self.app.create_team("Acme").await.unwrap().id
    }

    /// A key for a team's products.
    pub async fn key(&self, team: TeamId, mode: Mode, scope: Scope) -> ApiKey {
        self.app
            .create_api_key(&Actor::Operator, team, mode, scope, None, None)
            .await
            .unwrap()
            .0
    }

    /// A key that may write to the live catalog of a new team.
    pub async fn writer(&self) -> ApiKey {
        self.key(self.team().await, Mode::Live, Scope::ReadWrite)
            .await
    }

    /// The database, for tests that look into it.
    pub fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    /// A second service over the same database, as another process would be.
    pub async fn another(&self) -> App {
        let store = self.database().open().await;
        App::new(store, self.clock.clone(), "https://links.example")
            .await
            .unwrap()
    }
}

/// A service that sends mail through this server.
pub fn mailing(app: App, mail: &MailServer) -> App {
    let (server, from) = (mail.url().parse().unwrap(), "a@links.example".parse().unwrap());
    let settings = MailSettings { server: &server, from: &from };
    let log = slog::Logger::root(slog::Discard, slog::o!());
    let outbox = Outbox::new(settings, &ORIGIN.parse().unwrap(), Counts::default(), &log);
    app.reached_at(Some(ORIGIN.to_owned())).mailing_by(Some(outbox.unwrap()))
}

impl Drop for Service {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(database) = self.database.take()
        {
            let kept = database.keep();
            eprintln!("the database of this test is kept in {kept}");
        }
    }
}

/// A product with only the required fields.
pub fn plain(name: &str) -> NewProduct {
    NewProduct::new(name, "19.90".parse().unwrap(), "EUR")
}

/// A product with that sku.
pub fn with_sku(sku: &str) -> NewProduct {
    NewProduct {
        sku: Some(sku.into()),
        ..plain("Has a sku")
    }
}

/// A read-write key for the live catalog of a team, and its secret.
pub async fn live_key(app: &App, team: TeamId) -> Result<(ApiKey, Secret), Error> {
    let (mode, scope) = (Mode::Live, Scope::ReadWrite);
    app.create_api_key(&Actor::Operator, team, mode, scope, None, None)
        .await
}

/// The listed keys, without the addresses that they were used from.
pub fn keys(listed: Result<Vec<ShownApiKey>, Error>) -> Vec<ApiKey> {
    listed.unwrap().into_iter().map(|it| it.key).collect()
}
