//! Things whose ids and secrets are given, not drawn: for a database that tests are written against.
//!
//! Only `invoicing demo` and the benchmarks use this. What the service itself makes has an id and a secret that nobody can
//! guess, and no operation and no other command offers anything else.

use super::App;
use crate::domain::Error;
use crate::domain::api_key::{ApiKey, Scope};
use crate::domain::auth_code::CodeChallenge;
use crate::domain::catalog::Mode;
use crate::domain::id::{FileId, TeamId, UserId};
use crate::domain::item::{File, Folder};
use crate::domain::oauth_client::OauthClient;
use crate::domain::product::Product;
use crate::domain::secret::Secret;
use crate::domain::session::pair::PairDigests;
use crate::domain::session::{CodeExchange, Device};
use crate::domain::team::Team;
use crate::domain::user::User;
use crate::store::product;

impl App {
    /// A team with this id.
    ///
    /// # Errors
    /// What the store answers; so do the others here.
    pub async fn given_team(&self, id: TeamId, name: &str) -> Result<(), Error> {
        let team = Team {
            id,
            name: name.to_owned(),
            created_at: self.now(),
        };
        self.add_team(team).await.map(drop)
    }

    /// A user with this id.
    ///
    /// # Errors
    /// As [`given_team`](App::given_team).
    pub async fn given_user(&self, id: UserId, email: &str, name: &str) -> Result<(), Error> {
        let user = User {
            id,
            email: email.to_owned(),
            name: name.to_owned(),
            created_at: self.now(),
        };
        self.add_user(user).await.map(drop)
    }

    /// A file with this id in a folder.
    ///
    /// # Errors
    /// As [`given_team`](App::given_team).
    pub async fn given_file(&self, id: FileId, name: &str, folder: &Folder) -> Result<(), Error> {
        let file = File {
            id,
            team_id: folder.team_id,
            name: name.to_owned(),
            folder_id: Some(folder.id),
            created_at: self.now(),
        };
        self.add_file(file).await.map(drop)
    }

    /// An API key with this text.
    ///
    /// # Errors
    /// As [`given_team`](App::given_team).
    pub async fn given_api_key(
        &self,
        secret: &Secret,
        team_id: TeamId,
        mode: Mode,
        scope: Scope,
        name: &str,
    ) -> Result<ApiKey, Error> {
        let now = self.now();
        let key = ApiKey {
            id: self.ids.next(now),
            team_id,
            mode,
            scope,
            name: Some(name.to_owned()),
            created_at: now,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        self.add_api_key(key, secret.digest()).await
    }

    /// A product that is all as given, in the catalog of a key.
    ///
    /// # Errors
    /// As [`given_team`](App::given_team); [`Error::DuplicateSku`].
    pub async fn given_product(&self, caller: &ApiKey, product: Product) -> Result<(), Error> {
        let catalog = caller.catalog();
        self.store
            .write(catalog, async move |sql| {
                sql.run(product::insert(catalog, &product)).await.map(drop)
            })
            .await
    }

    /// A signed-in device that has these tokens. It has signed in with a code, as devices do.
    ///
    /// # Errors
    /// As [`given_team`](App::given_team).
    pub async fn given_session(
        &self,
        user_id: UserId,
        client: &OauthClient,
        redirect_uri: &str,
        device: Device,
        (access_token, refresh_token): (&Secret, &Secret),
    ) -> Result<(), Error> {
        let verifier = Secret::base64url();
        let challenge = CodeChallenge::of(&verifier);
        let code = self
            .issue_auth_code(user_id, &client.id, redirect_uri, challenge)
            .await?
            .code;
        let now = self.now();
        let exchange = CodeExchange {
            code: code.digest(),
            challenge,
            redirect_uri: redirect_uri.to_owned(),
            client_id: client.id.clone(),
            device,
            session_id: self.ids.next(now),
            pair: PairDigests {
                access: access_token.digest(),
                refresh: refresh_token.digest(),
            },
            now,
        };
        self.carry_out_exchange(exchange).await.map(drop)
    }
}
