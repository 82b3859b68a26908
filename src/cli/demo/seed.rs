//! What is in the demo's database.

use codegen_runtime::Decimal;

use crate::app::api_key::{ApiKey, Mode, Scope};
use crate::app::auth_code::CodeChallenge;
use crate::app::id::{FileId, ProductId, TeamId, UserId};
use crate::app::item::ItemId;
use crate::app::member::Role;
use crate::app::oauth_client::ClientId;
use crate::app::product::NewProduct;
use crate::app::secret::Secret;
use crate::app::session::{Device, TokenRequest, TokenSet};
use crate::app::share_link::{Audience, CreateLink};
use crate::app::{App, Error};

/// The app that users of the demo sign in with.
pub const CLIENT: &str = "demo-app";

/// Where its codes are sent.
pub const REDIRECT_URI: &str = "com.example.demo:/signed-in";

/// The installation of the app that is signed in.
pub const INSTALL_ID: &str = "demo-phone";

/// What the story needs to know of what is there.
pub struct Seed {
    pub team: TeamId,
    /// Live, read and write.
    pub key: Secret,
    /// Live, read only.
    pub read_only_key: Secret,
    /// Test, read and write.
    pub test_key: Secret,
    /// To change.
    pub consulting: ProductId,
    /// To archive.
    pub brochure: ProductId,
    pub user: UserId,
    pub file: FileId,
    /// Of the device that is signed in.
    pub tokens: TokenSet,
}

/// Fills an empty database.
pub async fn seed(app: &App) -> Result<Seed, Error> {
    let team = app.create_team("Acme").await?.id;
    let (live, key) = api_key(app, team, Mode::Live, Scope::ReadWrite, "Web shop").await?;
    let (_, read_only_key) = api_key(app, team, Mode::Live, Scope::ReadOnly, "Reports").await?;
    let (test, test_key) = api_key(app, team, Mode::Test, Scope::ReadWrite, "Trial").await?;

    let brochure = product("Brochure 2019", "2.50", "BRO-19", "GOODS", "pcs");
    let brochure = create(app, &live, brochure).await?;
    create(
        app,
        &live,
        product("Desk lamp", "39.90", "LAMP-1", "GOODS", "pcs"),
    )
    .await?;
    let consulting = product("Consulting", "120", "CONS-1", "SERVICES", "hr");
    let consulting = create(app, &live, consulting).await?;
    create(
        app,
        &test,
        product("A product to try things with", "1", "TRY-1", "GOODS", "ea"),
    )
    .await?;

    let user = app.create_user("ada@example.com", "Ada Lovelace").await?.id;
    app.add_member(team, user, Role::Owner).await?;
    let folder = app.create_folder(team, "Offers").await?.id;
    let file = app
        .create_file(team, "Offer 2026-017.pdf", Some(folder))
        .await?
        .id;
    for (name, password) in [
        ("For the customer", None),
        ("For the auditor", Some("s3cret")),
    ] {
        app.create_link(CreateLink {
            item_id: ItemId::File(file),
            user_id: user,
            name: Some(name.to_owned()),
            audience: Audience::Public,
            can_download: password.is_some(),
            password: password.map(Secret::from_text),
            expires_in: None,
        })
        .await?;
    }
    let tokens = sign_in(app, user).await?;
    Ok(Seed {
        team,
        key,
        read_only_key,
        test_key,
        consulting,
        brochure,
        user,
        file,
        tokens,
    })
}

async fn api_key(
    app: &App,
    team: TeamId,
    mode: Mode,
    scope: Scope,
    name: &str,
) -> Result<(ApiKey, Secret), Error> {
    app.create_api_key(team, mode, scope, Some(name), None)
        .await
}

/// A product in euros with German VAT.
fn product(name: &str, price: &str, sku: &str, kind: &str, unit: &str) -> NewProduct {
    NewProduct {
        name: name.to_owned(),
        // Cannot fail: the prices stand above.
        unit_price: price.parse().expect("a price"),
        currency: "EUR".to_owned(),
        description: Some(format!("{name}, as in our catalog.")),
        sku: Some(sku.to_owned()),
        tax_rate: Some(Decimal::from(19_u32)),
        product_type: Some(kind.to_owned()),
        unit_of_measure: Some(unit.to_owned()),
    }
}

async fn create(app: &App, key: &ApiKey, product: NewProduct) -> Result<ProductId, Error> {
    Ok(app.create_product(key, product, None).await?.value.id)
}

/// A signed-in device, in the way in which devices sign in.
async fn sign_in(app: &App, user: UserId) -> Result<TokenSet, Error> {
    let client = app
        .create_oauth_client(CLIENT, "Demo app", &[REDIRECT_URI.to_owned()])
        .await?
        .id;
    let verifier = Secret::base64url();
    let challenge = CodeChallenge::of(&verifier);
    let issued = app
        .issue_auth_code(user, &client, REDIRECT_URI, challenge)
        .await?;
    app.exchange_token(TokenRequest::AuthorizationCode {
        code: issued.code,
        code_verifier: verifier,
        redirect_uri: REDIRECT_URI.to_owned(),
        client_id: ClientId::new(CLIENT),
        device: Device {
            install_id: Some(INSTALL_ID.to_owned()),
            user_agent: Some("Demo/1.0 (Phone)".to_owned()),
        },
    })
    .await
}
