//! The data of every contender: the same products under the same key, the same devices and share links.
//!
//! A product is a function of its number, and its id contains the number, so that any answer can be
//! checked without a query. All are rendered in the same number of bytes. Ids grow with the number, as
//! they would in time: the newest product is the one with the greatest number.
//!
//! One product in [`CHANGED`] is meant to be changed; the others stay as they are while the bench runs.

mod mobile;
mod product;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::SecondsFormat;
use futures::{StreamExt, TryStreamExt, stream};
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::Actor;
use invoicing::domain::author::Caller;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::product::Product;
use invoicing::domain::time::{SystemClock, Timestamp};
use invoicing::sqlite::Sqlite;
use invoicing::store::{self, Sql, Store};
use tokio::time::sleep;
use uuid::Uuid;

pub use mobile::{CLIENT, Mobile};
pub use product::{CHANGED, any_changed_id, id, number, product, published};

/// Changes in flight while the data set is made: more than the store commits together.
const IN_FLIGHT: usize = 1024;

/// How often a change is tried, and the pause between tries: a minute in total.
const TRIES: u32 = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// The start of links, in answers. With `http`, signing in would not work.
pub const PUBLIC_URL: &str = "https://bench.example";

/// The file of the service's database.
const DATABASE: &str = "invoicing.db";

/// A boxed error: the bench prints it and exits.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The next refresh tokens of the devices for one contender, in the order of the devices.
pub type RefreshTokens = RefCell<Vec<String>>;

/// The data set, as far as it exists outside the contenders.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    /// How many products there are.
    pub products: u64,
    /// An API key, read and write, that sees them.
    pub key: String,
    /// The team that it acts for.
    pub team: Uuid,
    /// The data for the mobile API.
    pub mobile: Mobile,
}

impl Dataset {
    /// Makes the data set in an empty folder, with the service's database in it.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn make(folder: &Path, products: u64, devices: usize) -> Result<Self, BoxError> {
        let path = folder.join(DATABASE);
        let store: Arc<Store> = Arc::new(Sqlite::open(&path)?.into());
        let app = App::new(Arc::clone(&store), Arc::new(SystemClock), PUBLIC_URL).await?;
        let team = app.create_team("Bench").await?.id;
        let (caller, key) = app
            .create_api_key(
                &Actor::Operator,
                team,
                Mode::Live,
                Scope::ReadWrite,
                Some("bench"),
                None,
            )
            .await?;
        add_products(&store, caller.catalog(), products).await?;
        Ok(Self {
            folder: folder.to_owned(),
            products,
            key: key.reveal().to_owned(),
            team: team.0,
            mobile: Mobile::make(&app, team, devices).await?,
        })
    }

    /// A file of the data set's folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The file of the service's database.
    pub fn database(&self) -> PathBuf {
        self.file(DATABASE)
    }

    /// The database's address.
    pub fn url(&self) -> String {
        format!("sqlite:{}", self.database().display())
    }

    /// The refresh tokens of a contender that has not been used yet.
    pub fn refresh_tokens(&self) -> RefreshTokens {
        let tokens = self.mobile.devices.iter();
        RefCell::new(tokens.map(|device| device.refresh_token.clone()).collect())
    }

    /// The id of a random product that stays as it is.
    pub fn any_id(&self, random: &mut fastrand::Rng) -> Uuid {
        let number = random.u64(0..self.products);
        // The next one, or the one before if there is no next.
        let number = match number % CHANGED {
            0 if number + 1 < self.products => number + 1,
            0 => number.saturating_sub(1),
            _ => number,
        };
        id(number)
    }
}

/// All have the bench's values, including ids, which no operation of the service offers.
async fn add_products(store: &Store, catalog: Catalog, products: u64) -> Result<(), BoxError> {
    let add = |product: Product| {
        let add = move || add_product(store, catalog, product.clone());
        patiently(add)
    };
    stream::iter((0..products).map(product))
        .map(add)
        .buffered(IN_FLIGHT)
        .try_for_each(async |_| Ok(()))
        .await?;
    Ok(())
}

async fn add_product(store: &Store, catalog: Catalog, product: Product) -> Result<(), Error> {
    let insert = async move |sql: Sql<'_>| {
        let insert = store::product::insert(catalog, &product);
        sql.run(insert).await.map(drop)
    };
    store.write(catalog, insert).await
}

/// Makes a change, retrying until the store has time for it: the store refuses one that would wait for
/// long.
///
/// # Errors
/// The last error of the store.
pub async fn patiently<T, F: Future<Output = Result<T, Error>>>(
    change: impl Fn() -> F,
) -> Result<T, Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        match change().await {
            Err(Error::Unavailable(_)) if tries < TRIES => sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// A time as the documents write it.
pub fn time(time: Timestamp) -> String {
    time.to_datetime()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}
