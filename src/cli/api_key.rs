//! `invoicing api-key`: the credentials that a team's integrations use instead of a password.

use crate::app::App;
use crate::domain::api_key::{ApiKey as Key, RotatedApiKey, Scope, ShownApiKey};
use crate::domain::audit::Actor;
use crate::domain::catalog::Mode;
use crate::domain::id::ApiKeyId;
use crate::domain::team::NamedTeam;
use crate::settings::Span;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;
use super::word::one_of;

/// API keys: a team's integrations use them to call the catalog API.
#[derive(Debug, clap::Subcommand)]
pub(super) enum ApiKey {
    /// Creates a key and prints it once; the database keeps only a hash.
    #[command(after_help = r#"Examples:
    invoicing api-key create --team Acme --mode live --scope read-write --name "Web shop"
    invoicing api-key create --team Acme --mode test --scope read-only --expires-in 90d

To keep the key out of the terminal's history:
    invoicing api-key create --team Acme --mode live --scope read-write --json | jq -r .key > key"#)]
    Create {
        /// The team that the key acts for, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        /// Which of the team's two catalogs the key sees: the real one, or the one for trying things out.
        #[arg(long, value_parser = one_of(Mode::ALL))]
        mode: Mode,
        /// What the key may do: only GET, or everything.
        #[arg(long, value_parser = one_of(Scope::ALL))]
        scope: Scope,
        /// Name to recognize the key by in the list.
        #[arg(long)]
        name: Option<String>,
        /// How long the key is valid, such as 12h or 90d; by default, until it is revoked.
        #[arg(long, value_name = "SPAN")]
        expires_in: Option<Span>,
    },
    /// Lists a team's keys, or all keys, oldest first, without the keys themselves.
    List {
        /// The team, by its id or its name; by default, all teams.
        #[arg(long, value_name = "TEAM")]
        team: Option<NamedTeam>,
        #[command(flatten)]
        part: PartOf<ApiKeyId>,
    },
    /// Shows a key, without the key itself.
    Show {
        /// The key's id, as shown by `api-key list`; not the key itself.
        id: ApiKeyId,
    },
    /// Creates a key that replaces another, and prints it once.
    ///
    /// The new key has the team, mode, scope and name of the old one, and the lifetime that the old one was created with. A
    /// key can be rotated only once.
    #[command(after_help = r#"Examples:
    invoicing api-key rotate 0198c5b2-7d3c-7a44-9c58-2f6d1b0e8a11 --overlap 24h
    invoicing api-key rotate 0198c5b2-7d3c-7a44-9c58-2f6d1b0e8a11 --json | jq -r .key > key"#)]
    Rotate {
        /// The old key's id, as shown by `api-key list`; not the key itself.
        id: ApiKeyId,
        /// How long the old key keeps working, such as 1h or 7d, but no longer than it would have; by default, it ends at
        /// once, as if it were revoked.
        #[arg(long, value_name = "SPAN")]
        overlap: Option<Span>,
    },
    /// Revokes a key for good; once this returns, all running servers refuse it.
    Revoke {
        /// The key's id, as shown by `api-key list`; not the key itself.
        id: ApiKeyId,
    },
}

impl ApiKey {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create {
                team,
                mode,
                scope,
                name,
                expires_in,
            } => {
                let team = app.get_team(team).await?.id;
                let expires_in = expires_in.map(Span::duration);
                let (key, secret) = app
                    .create_api_key(
                        &Actor::Operator,
                        team,
                        mode,
                        scope,
                        name.as_deref(),
                        expires_in,
                    )
                    .await?;
                let id = Record::default()
                    .with_text("id", key.id)
                    .with("key", secret.reveal());
                Ok(Output::from(describe(id, &key))
                    .with_note("this is the only time that the key is shown; keep it now"))
            }
            Self::List { team, part } => {
                let named: &[&str] = if team.is_some() { &["teamId"] } else { &[] };
                let team = match team {
                    Some(team) => Some(app.get_team(team).await?.id),
                    None => None,
                };
                let keys = app.list_api_keys(team, part.part()).await?;
                let records = keys.iter().map(|key| record(key).without_columns(named));
                Ok(part.list(records.collect(), "id"))
            }
            Self::Show { id } => Ok(record(&app.get_api_key(id).await?).into()),
            Self::Rotate { id, overlap } => {
                let overlap = overlap.map(Span::duration);
                let rotated = app.rotate_api_key(&Actor::Operator, id, overlap).await?;
                let RotatedApiKey { old, new, secret } = rotated;
                let record = Record::default()
                    .with_text("id", new.id)
                    .with("key", secret.reveal());
                let record = describe(record, &new)
                    .with_text("replaces", old.id)
                    .with_distant_time("replacedEndsAt", old.end());
                let end = match old.revoked_at {
                    Some(_) => "has ended",
                    None => "works until then",
                };
                Ok(Output::from(record).with_note(format!(
                    "this is the only time that the new key is shown; keep it now. The old key {} {end}",
                    old.id
                )))
            }
            Self::Revoke { id } => {
                app.revoke_api_key(&Actor::Operator, id).await?;
                Ok(record(&app.get_api_key(id).await?).into())
            }
        }
    }
}

fn record(
    ShownApiKey {
        key,
        last_used_from,
    }: &ShownApiKey,
) -> Record {
    let record = describe(Record::default().with_text("id", key.id), key);
    record
        .with_distant_time("revokedAt", key.revoked_at)
        .with_distant_time("lastUsedAt", key.last_used_at)
        .with_optional("lastUsedFrom", last_used_from.as_ref())
        .with_optional("replacedBy", key.replaced_by)
}

fn describe(record: Record, key: &Key) -> Record {
    record
        .with_text("teamId", key.team_id)
        .with_text("mode", key.mode)
        .with_text("scope", key.scope)
        .with_optional("name", key.name.as_ref())
        .with_time("createdAt", key.created_at)
        .with_distant_time("expiresAt", key.expires_at)
}
