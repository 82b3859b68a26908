//! What every contender holds: the same products under the same key.
//!
//! A product is a function of its number, and its id tells the number again, so that any answer can be
//! checked without asking anybody. All are rendered in the same number of bytes. Ids grow with the
//! number, as they would in time: the newest product is the one with the greatest number.
//!
//! One product in [`CHANGED`] is there to be changed; the others stay as they are while the bench runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use invoicing::app::App;
use invoicing::app::api_key::{ApiKey, Mode, Scope};
use invoicing::app::id::ProductId;
use invoicing::app::product::{Product, ProductStatus};
use invoicing::app::time::{SystemClock, Timestamp};
use invoicing::store::ProductStore;
use invoicing::store::sqlite::Sqlite;
use uuid::{Builder, Uuid};

/// PATCH changes the products whose number is a multiple of this, and no others.
pub const CHANGED: u64 = 16;

/// When the first product was created; each next one a millisecond later.
const BEGIN: u64 = 1_735_689_600_000; // 2025-01-01T00:00:00Z

/// Changes in flight while the data set is made: more than the store commits together.
const IN_FLIGHT: usize = 1024;

/// A boxed error: the bench shows it and ends.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The data set, as far as it exists outside of the contenders.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    /// How many products there are.
    pub products: u64,
    /// An API key, read and write, that sees them.
    pub key: String,
    /// The team that it acts for.
    pub team: Uuid,
}

impl Dataset {
    /// Makes the data set in an empty folder, and in it the database of the service.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn make(folder: &Path, products: u64) -> Result<Self, Failure> {
        let path = folder.join("invoicing.db");
        let store = Arc::new(Sqlite::open(&path)?);
        let app = App::new(store.clone(), Arc::new(SystemClock), "http://bench.example").await?;
        let team = app.create_team("Bench").await?.id;
        let (caller, key) = app
            .create_api_key(team, Mode::Live, Scope::ReadWrite, Some("bench"), None)
            .await?;
        add_products(&store, &caller, products).await?;
        Ok(Self {
            folder: folder.to_owned(),
            products,
            key: key.reveal().to_owned(),
            team: team.0,
        })
    }

    /// A file of the data set's folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The database of the service.
    pub fn database(&self) -> PathBuf {
        self.file("invoicing.db")
    }

    /// The id of a product that stays as it is.
    pub fn any_id(&self, random: &mut fastrand::Rng) -> Uuid {
        let number = random.u64(0..self.products);
        // The next one, unless that is one too many: then the one before.
        let number = match number % CHANGED {
            0 if number + 1 < self.products => number + 1,
            0 => number.saturating_sub(1),
            _ => number,
        };
        id(number)
    }
}

async fn add_products(store: &Sqlite, caller: &ApiKey, products: u64) -> Result<(), Failure> {
    let catalog = caller.catalog();
    stream::iter((0..products).map(product))
        .map(|product| {
            let now = product.created_at;
            store.create_product(catalog, product, None, now)
        })
        .buffered(IN_FLIGHT)
        .try_for_each(async |_| Ok(()))
        .await?;
    Ok(())
}

/// The product of that number.
pub fn product(number: u64) -> Product {
    let created_at = Timestamp::from_millis((BEGIN + number).cast_signed());
    Product {
        id: ProductId(id(number)),
        name: format!("Product {number:09}"),
        // Cannot fail: digits around a point.
        unit_price: format!("{}.99", 100 + number % 900)
            .parse()
            .expect("a price"),
        currency: "EUR".to_owned(),
        description: Some(format!(
            "What an invoice says of product {number:09}, in a line or so."
        )),
        sku: Some(format!("SKU-{number:09}")),
        tax_rate: Some(19_u32.into()),
        product_type: Some("GOODS".to_owned()),
        unit_of_measure: Some("pcs".to_owned()),
        status: ProductStatus::Active,
        created_at,
        updated_at: created_at,
    }
}

/// The id of the product of that number: a UUIDv7 of its millisecond.
fn id(number: u64) -> Uuid {
    let mut rest = [0; 10];
    // Spread like random bits, the same in every run.
    rest[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    Builder::from_unix_timestamp_millis(BEGIN + number, &rest).into_uuid()
}

/// The number of the product with this id, if it is one of the data set.
pub fn number(id: Uuid) -> Option<u64> {
    let number = (id.as_u128() >> 80) as u64;
    let number = number.checked_sub(BEGIN)?;
    (self::id(number) == id).then_some(number)
}
