//! Teams with their keys, and devices with their tokens, created with the command line as an operator
//! would.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::{Commands, Service, text};
use crate::caller::{Answer, Request};
use crate::deployment::{Skip, variable};

/// The code verifier of RFC 7636, appendix B.
pub const CODE_VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// The S256 challenge of [`CODE_VERIFIER`].
pub const CODE_CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The command that creates a team.
const TEAM: [&str; 4] = ["team", "create", "--name", "contract test"];

/// A text that is computed on first use. Most tests need one key of three, and each takes a command.
#[derive(Clone, Debug)]
pub struct Lazy(Arc<LazyLock<String, Box<dyn FnOnce() -> String + Send + Sync>>>);

impl Lazy {
    fn new(make: impl FnOnce() -> Result<String, Skip> + Send + Sync + 'static) -> Self {
        let make = || make().unwrap_or_else(|Skip(reason)| panic!("{reason}"));
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }

    /// A text that already exists.
    fn given(text: String) -> Self {
        Self::new(|| Ok(text))
    }
}

impl Deref for Lazy {
    type Target = String;

    fn deref(&self) -> &String {
        &self.0
    }
}

impl fmt::Display for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// A team and its keys.
#[derive(Clone, Debug)]
pub struct Team {
    /// Its id; empty if the deployment does not provide it.
    pub id: String,
    /// A *Read & Write* key, mode Live.
    pub live: Lazy,
    /// A `READ_ONLY` key, mode Live.
    pub live_read_only: Lazy,
    /// A *Read & Write* key, mode Test.
    pub test: Lazy,
}

impl Commands {
    fn api_key(&self, team: &str, mode: &str, scope: &str) -> Result<String, Skip> {
        let command = [
            "api-key", "create", "--team", team, "--mode", mode, "--scope", scope,
        ];
        Ok(text(&self.run(&command)?["key"]))
    }
}

impl Service {
    /// A new team with three keys; on a deployment without its database, the one from the variables.
    ///
    /// # Errors
    ///
    /// When the deployment gives neither.
    pub fn team(&self) -> Result<Team, Skip> {
        if self.commands.database.is_none() {
            return Ok(Team {
                id: variable("INVOICING_TEAM_ID").unwrap_or_default(),
                live: Lazy::given(variable("INVOICING_LIVE_KEY")?),
                live_read_only: Lazy::given(variable("INVOICING_LIVE_READ_ONLY_KEY")?),
                test: Lazy::given(variable("INVOICING_TEST_KEY")?),
            });
        }
        self.new_team()
    }

    /// A new team with three keys.
    ///
    /// # Errors
    ///
    /// When the database of the deployment cannot be reached.
    pub fn new_team(&self) -> Result<Team, Skip> {
        let id = self.commands.make(&TEAM)?;
        let key = |mode, scope| {
            let (commands, id) = (self.commands.clone(), id.clone());
            Lazy::new(move || commands.api_key(&id, mode, scope))
        };
        Ok(Team {
            live: key("live", "read-write"),
            live_read_only: key("live", "read-only"),
            test: key("test", "read-write"),
            id,
        })
    }

    /// A new key.
    ///
    /// # Errors
    ///
    /// When the database of the deployment cannot be reached.
    pub fn api_key(&self, team: &str, mode: &str, scope: &str) -> Result<String, Skip> {
        self.commands.api_key(team, mode, scope)
    }

    /// A *Read & Write* key, mode Live, of a team other than [`Service::team`].
    ///
    /// # Errors
    ///
    /// When the deployment does not provide it.
    pub fn other_team_key(&self) -> Result<String, Skip> {
        match self.commands.database {
            Some(_) => Ok(self.new_team()?.live.to_string()),
            None => variable("INVOICING_OTHER_TEAM_KEY"),
        }
    }
}

/// A signed-in app of a member of a team, and a file of the team.
#[derive(Clone, Debug)]
pub struct Device {
    /// The person.
    pub user_id: String,
    /// The OAuth client of the app.
    pub client_id: String,
    /// The redirect URI of the app.
    pub redirect_uri: String,
    /// The tokens of its session.
    pub access_token: String,
    /// The refresh token, not yet used; empty on a deployment without its database.
    pub refresh_token: String,
    /// The team that the person is a member of.
    pub team_id: String,
    /// A file of this team.
    pub file_id: String,
    /// A team that the person is not a member of.
    pub other_team_id: Lazy,
}

impl Service {
    /// A new device, signed in; on a deployment without its database, the one from the variables.
    ///
    /// # Errors
    ///
    /// When the deployment gives neither.
    pub async fn device(&self, team: &Team) -> Result<Device, Skip> {
        if self.commands.database.is_none() {
            return Ok(Device {
                access_token: variable("INVOICING_ACCESS_TOKEN")?,
                team_id: variable("INVOICING_TEAM_ID")?,
                file_id: variable("INVOICING_FILE_ID")?,
                other_team_id: Lazy::given(variable("INVOICING_OTHER_TEAM_ID")?),
                user_id: String::new(),
                client_id: String::new(),
                redirect_uri: String::new(),
                refresh_token: String::new(),
            });
        }
        let unique = uuid::Uuid::new_v4().simple().to_string();
        let email = format!("{unique}@example.com");
        let redirect_uri = "com.example.app:/signed-in";
        let user_id =
            self.commands
                .make(&["user", "create", "--email", &email, "--name", "Ada Byron"])?;
        let role = ["--role", "member"];
        self.command(
            &[
                &["member", "add", "--team", &team.id, "--user", &user_id],
                &role[..],
            ]
            .concat(),
        )?;
        let client = [
            "oauth-client",
            "create",
            "--id",
            &unique,
            "--name",
            "contract test",
        ];
        self.command(&[&client[..], &["--redirect-uri", redirect_uri]].concat())?;
        let commands = self.commands.clone();
        let mut device = Device {
            user_id,
            client_id: unique,
            redirect_uri: redirect_uri.to_owned(),
            access_token: String::new(),
            refresh_token: String::new(),
            team_id: team.id.clone(),
            file_id: self
                .commands
                .make(&["file", "create", "--team", &team.id, "--name", "plan.pdf"])?,
            other_team_id: Lazy::new(move || commands.make(&TEAM)),
        };
        let code = self.authorization_code(&device)?;
        let tokens = self
            .exchange(&device.code_grant(&code))
            .await
            .expect_status(200);
        device.access_token = text(&tokens.json()["access_token"]);
        device.refresh_token = text(&tokens.json()["refresh_token"]);
        Ok(device)
    }

    /// A new authorization code for the person and the app of a device.
    ///
    /// # Errors
    ///
    /// When the database of the deployment cannot be reached.
    pub fn authorization_code(&self, device: &Device) -> Result<String, Skip> {
        let code = self.command(&[
            "auth-code",
            "issue",
            "--user",
            &device.user_id,
            "--client",
            &device.client_id,
            "--redirect-uri",
            &device.redirect_uri,
            "--code-challenge",
            CODE_CHALLENGE,
        ])?;
        Ok(text(&code["code"]))
    }

    /// Sends a token request.
    pub async fn exchange(&self, grant: &Value) -> Answer {
        let request = Request::new("POST", "/api/auth/mobile/token").json(grant);
        self.caller.send(request).await
    }
}

impl Device {
    /// The token request for a code.
    pub fn code_grant(&self, code: &str) -> Value {
        json!({
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": CODE_VERIFIER,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client_id,
        })
    }

    /// The token request for a refresh token.
    pub fn refresh_grant(&self, refresh_token: &str) -> Value {
        json!({
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "client_id": self.client_id,
        })
    }

    /// The path of the file's links.
    pub fn links(&self) -> String {
        format!("/api/mobile/items/file/{}/links", self.file_id)
    }
}
