//! What is in the demo's database.

use codegen_runtime::Decimal;

use crate::app::App;
use crate::domain::Error;
use crate::domain::api_key::{ApiKey, Scope};
use crate::domain::catalog::Mode;
use crate::domain::id::ProductId;
use crate::domain::item::ItemId;
use crate::domain::member::Role;
use crate::domain::product::NewProduct;
use crate::domain::secret::Secret;
use crate::domain::session::Device;
use crate::domain::share_link::{Audience, CreateLink};

use super::credentials::Credentials;

/// The app that users of the demo sign in with.
pub const CLIENT: &str = "demo-app";

/// Where its codes are sent.
pub const REDIRECT_URI: &str = "com.example.demo:/signed-in";

/// The installation of the app that is signed in.
pub const INSTALL_ID: &str = "demo-phone";

/// What the story needs to know of what is there.
pub struct Seed {
    pub credentials: Credentials,
    /// To change.
    pub consulting: ProductId,
    /// To archive.
    pub brochure: ProductId,
}

/// Fills an empty database.
pub async fn seed(app: &App, credentials: Credentials) -> Result<Seed, Error> {
    let Credentials { team, user, .. } = credentials;
    app.given_team(team, "Acme").await?;
    app.given_user(user, "ada@example.com", "Ada Lovelace")
        .await?;
    app.add_member(team, user, Role::Owner).await?;
    let (consulting, brochure) = catalogs(app, &credentials).await?;
    links(app, &credentials).await?;
    sign_in(app, &credentials).await?;
    Ok(Seed {
        credentials,
        consulting,
        brochure,
    })
}

/// Three products in the live catalog, the first and the last of which have a part in the story, and
/// one in the test catalog.
async fn catalogs(app: &App, credentials: &Credentials) -> Result<(ProductId, ProductId), Error> {
    let key = async |secret, mode, scope, name| {
        app.given_api_key(secret, credentials.team, mode, scope, name)
            .await
    };
    let live = key(&credentials.key, Mode::Live, Scope::ReadWrite, "Web shop").await?;
    let test = key(&credentials.test_key, Mode::Test, Scope::ReadWrite, "Trial").await?;
    key(
        &credentials.read_only_key,
        Mode::Live,
        Scope::ReadOnly,
        "Reports",
    )
    .await?;

    let brochure = product("Brochure 2019", "2.50", "BRO-19", "GOODS", "pcs");
    let lamp = product("Desk lamp", "39.90", "LAMP-1", "GOODS", "pcs");
    let consulting = product("Consulting", "120", "CONS-1", "SERVICES", "hr");
    let trial = product("A product to try things with", "1", "TRY-1", "GOODS", "ea");
    let brochure = create(app, &live, brochure).await?;
    create(app, &live, lamp).await?;
    let consulting = create(app, &live, consulting).await?;
    create(app, &test, trial).await?;
    Ok((consulting, brochure))
}

/// A file in a folder, with two links.
async fn links(app: &App, credentials: &Credentials) -> Result<(), Error> {
    let folder = app.create_folder(credentials.team, "Offers").await?;
    app.given_file(credentials.file, "Offer 2026-017.pdf", &folder)
        .await?;
    for (name, password) in [
        ("For the customer", None),
        ("For the auditor", Some("s3cret")),
    ] {
        app.create_link(CreateLink {
            item_id: ItemId::File(credentials.file),
            user_id: credentials.user,
            name: Some(name.to_owned()),
            audience: Audience::Public,
            can_download: password.is_some(),
            password: password.map(Secret::from_text),
            expires_in: None,
        })
        .await?;
    }
    Ok(())
}

/// A product in euros with German VAT.
fn product(name: &str, price: &str, sku: &str, kind: &str, unit: &str) -> NewProduct {
    // Cannot fail: the prices stand above.
    let price = price.parse().expect("a price");
    NewProduct {
        description: Some(format!("{name}, as in our catalog.")),
        sku: Some(sku.to_owned()),
        tax_rate: Some(Decimal::from(19_u32)),
        product_type: Some(kind.to_owned()),
        unit_of_measure: Some(unit.to_owned()),
        ..NewProduct::new(name, price, "EUR")
    }
}

async fn create(app: &App, key: &ApiKey, product: NewProduct) -> Result<ProductId, Error> {
    Ok(app.create_product(key, product, None).await?.value.id)
}

/// The device that is signed in.
async fn sign_in(app: &App, credentials: &Credentials) -> Result<(), Error> {
    let client = app
        .create_oauth_client(CLIENT, "Demo app", &[REDIRECT_URI.to_owned()])
        .await?;
    let device = Device {
        install_id: Some(INSTALL_ID.to_owned()),
        user_agent: Some("Demo/1.0 (Phone)".to_owned()),
    };
    let tokens = (&credentials.access_token, &credentials.refresh_token);
    app.given_session(credentials.user, &client, REDIRECT_URI, device, tokens)
        .await
}
