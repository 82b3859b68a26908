//! The contents of the demo's database.
//!
//! Ids and secrets may be given, so that tests can be written against them. Those that the service itself makes cannot be
//! guessed, and no operation and no other command offers anything else.

use openapi_dropshot_runtime::Decimal;

use crate::app::App;
use crate::domain::Error;
use crate::domain::api_key::{ApiKey, Scope};
use crate::domain::auth_code::CodeChallenge;
use crate::domain::catalog::Mode;
use crate::domain::id::ProductId;
use crate::domain::item::{File, ItemId};
use crate::domain::member::Role;
use crate::domain::product::NewProduct;
use crate::domain::secret::Secret;
use crate::domain::session::pair::PairDigests;
use crate::domain::session::{CodeExchange, Device};
use crate::domain::share_link::{Audience, CreateLink};
use crate::domain::team::Team;
use crate::domain::user::User;

use super::credentials::Credentials;

/// The app that users of the demo sign in with.
pub(super) const CLIENT: &str = "demo-app";
/// Where codes may be sent: to an app by its scheme, and to a program that listens on any port.
const REDIRECT_URIS: [&str; 2] = [REDIRECT_URI, "http://127.0.0.1/signed-in"];

/// The user who signs in, to that app and to the pages.
pub(super) const EMAIL: &str = "ada@example.com";

/// Where its codes are sent.
pub(super) const REDIRECT_URI: &str = "com.example.demo:/signed-in";

/// The installation of the app on the signed-in device.
pub(super) const INSTALL_ID: &str = "demo-phone";

/// The parts of the database that the scenario uses.
pub(super) struct Seed {
    pub credentials: Credentials,
    /// The product that the scenario changes.
    pub consulting: ProductId,
    /// The product that it archives.
    pub brochure: ProductId,
}

/// Fills an empty database.
pub(super) async fn seed(app: &App, credentials: Credentials) -> Result<Seed, Error> {
    let Credentials { team, user, .. } = credentials;
    let created_at = app.now();
    app.add_team(Team {
        id: team,
        name: "Acme".to_owned(),
        created_at,
    })
    .await?;
    app.add_user(User {
        id: user,
        email: EMAIL.to_owned(),
        name: "Ada Lovelace".to_owned(),
        created_at,
        deactivated_at: None,
    })
    .await?;
    app.add_password(user, credentials.password.clone()).await?;
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

/// Three products in the live catalog, of which the scenario uses the first and the last, and one in the test catalog.
async fn catalogs(app: &App, credentials: &Credentials) -> Result<(ProductId, ProductId), Error> {
    let key = async |secret: &Secret, mode, scope, name: &str| {
        let key = ApiKey {
            id: app.new_id(),
            team_id: credentials.team,
            mode,
            scope,
            name: Some(name.to_owned()),
            created_at: app.now(),
            created_by: None,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            replaced_by: None,
        };
        app.add_api_key(key, secret.digest()).await
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
    app.add_file(File {
        id: credentials.file,
        team_id: credentials.team,
        name: "Offer 2026-017.pdf".to_owned(),
        folder_id: Some(folder.id),
        created_at: app.now(),
    })
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
    // Cannot fail: the prices are given above.
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

/// Signs the device in: with a code, as devices do, but with given tokens.
async fn sign_in(app: &App, credentials: &Credentials) -> Result<(), Error> {
    let client = app
        .create_oauth_client(CLIENT, "Demo app", &REDIRECT_URIS.map(str::to_owned))
        .await?;
    let device = Device {
        install_id: Some(INSTALL_ID.to_owned()),
        user_agent: Some("Demo/1.0 (Phone)".to_owned()),
        client_address: None,
    };
    let challenge = CodeChallenge::of(&Secret::base64url());
    let issued = app
        .issue_auth_code(credentials.user, &client.id, REDIRECT_URI, challenge)
        .await?;
    let exchange = CodeExchange {
        code: issued.code.digest(),
        challenge,
        redirect_uri: REDIRECT_URI.to_owned(),
        client_id: client.id,
        device,
        session_id: app.new_id(),
        pair: PairDigests {
            access: credentials.access_token.digest(),
            refresh: credentials.refresh_token.digest(),
        },
        now: app.now(),
    };
    app.carry_out_exchange(credentials.user, exchange)
        .await
        .map(drop)
}
