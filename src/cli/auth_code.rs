//! `invoicing auth-code`: the codes that a sign-in page hands to the app.

use crate::app::App;
use crate::domain::auth_code::CodeChallenge;
use crate::domain::oauth_client::ClientId;
use crate::domain::user::NamedUser;

use super::command_error::CommandError;
use super::output::Output;
use super::record::Record;

/// Authorization codes: what an app exchanges for tokens after a user has signed in.
#[derive(Debug, clap::Subcommand)]
pub(super) enum AuthCode {
    /// Issues a code, as a sign-in page does for a user who has just signed in.
    ///
    /// The code works once, within 60 seconds, and only with the verifier that the challenge was made from (PKCE, RFC 7636).
    #[command(after_help = r#"Example:
    verifier=$(openssl rand -hex 32)
    challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | basenc --base64url | tr -d =)
    invoicing auth-code issue --user ada@example.com --client mobile \
        --redirect-uri com.example.app:/signed-in --code-challenge "$challenge""#)]
    Issue {
        /// The user who has signed in, by email or id.
        #[arg(long, value_name = "USER")]
        user: NamedUser,
        /// The app that the code is for.
        #[arg(long, value_name = "ID")]
        client: String,
        /// Where to send the code: one of the app's redirect URIs.
        #[arg(long, value_name = "URI")]
        redirect_uri: String,
        /// BASE64URL(SHA256(verifier)) without padding: method S256, the only one supported.
        #[arg(long, value_name = "CHALLENGE", allow_hyphen_values = true)]
        code_challenge: CodeChallenge,
    },
}

impl AuthCode {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let Self::Issue {
            user,
            client,
            redirect_uri,
            code_challenge,
        } = self;
        let user = app.get_user(user).await?.id;
        let client = ClientId::new(client);
        let issued = app
            .issue_auth_code(user, &client, &redirect_uri, code_challenge)
            .await?;
        let record = Record::default()
            .with("code", issued.code.reveal())
            .with("expiresIn", issued.expires_in);
        Ok(record.into())
    }
}
