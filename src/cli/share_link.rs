//! `invoicing link`: share links to files and folders.

use std::io::Read;

use serde_json::json;

use crate::app::App;
use crate::domain::Error;
use crate::domain::audit::Actor;
use crate::domain::id::{FileId, FolderId, ShareLinkId, UserId};
use crate::domain::item::ItemId;
use crate::domain::list::Part;
use crate::domain::secret::Secret;
use crate::domain::share_link::{Audience, CreateLink, ShareLink};
use crate::domain::team::NamedTeam;
use crate::domain::user::NamedUser;
use crate::settings::Span;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;
use super::word::one_of;

/// More than any password may have, so that reading one always ends.
const PASSWORD_INPUT_MAX_BYTES: u64 = 64 * 1024;

/// Fields of a link that would make its row of a list too long.
const DETAILS: [&str; 9] = [
    "url",
    "itemId",
    "permissions",
    "passwordProtected",
    "downloadCount",
    "lastViewedAt",
    "createdBy",
    "createdAt",
    "updatedAt",
];

/// Share links: addresses that lead to a file or folder without signing in.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Link {
    /// Creates a link and prints it; its `url` starts with the setting public_url.
    #[command(after_help = r#"Examples:
    invoicing link create --file ID --user ada@example.com --name "For the auditor" --expires-in 7d
    invoicing link create --folder ID --user ada@example.com --audience team --no-download
    printf %s "$PASSWORD" | invoicing link create --file ID --user ada@example.com --password-stdin"#)]
    Create(Create),
    /// Lists a team's links, or those that a user created, newest first, except revoked ones.
    #[command(after_help = r#"Examples:
    invoicing link list --team Acme
    invoicing link list --user ada@example.com"#)]
    List {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        part: PartOf<ShareLinkId>,
    },
    /// Shows a link that is not revoked.
    Show {
        /// The link's id.
        id: ShareLinkId,
    },
    /// Revokes a link, at once and for good.
    Revoke {
        /// The link's id.
        id: ShareLinkId,
    },
}

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Create {
    #[command(flatten)]
    item: Item,
    /// The user who shares it, by email or id; must be a member of the team that the file or folder belongs to.
    #[arg(long, value_name = "USER")]
    user: NamedUser,
    /// Name of the link.
    #[arg(long)]
    name: Option<String>,
    /// Who may follow the link: anyone who has it, or members of the team.
    #[arg(long, value_parser = one_of(Audience::ALL), default_value = "public")]
    audience: Audience,
    /// Let people view the file or folder, but not download it.
    #[arg(long)]
    no_download: bool,
    /// Protect the link with a password, read from standard input (one line).
    #[arg(long)]
    password_stdin: bool,
    /// How long the link works, such as 12h or 7d; by default, until it is revoked.
    #[arg(long, value_name = "SPAN")]
    expires_in: Option<Span>,
}

/// Whose links are listed: those of a team, or those of a user in all teams.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Of {
    /// The team, by its id or its name.
    #[arg(long, value_name = "TEAM")]
    team: Option<NamedTeam>,
    /// The user who created them, by email or id.
    #[arg(long, value_name = "USER")]
    user: Option<NamedUser>,
}

/// What to share: a file or a folder.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Item {
    /// The file to share.
    #[arg(long, value_name = "ID")]
    file: Option<FileId>,
    /// The folder to share.
    #[arg(long, value_name = "ID")]
    folder: Option<FolderId>,
}

impl Link {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create(create) => {
                let user = app.get_user(create.user.clone()).await?.id;
                let create = create.read(user)?;
                let (user, item) = (create.user_id, create.item_id);
                let link = app.create_link(create).await;
                let link = link.map_err(|error| refused(error, user, item))?;
                Ok(record(app, &link).into())
            }
            Self::List { of, part } => {
                let links = of.list(app, part.part()).await?;
                let records = links.iter().map(|link| record(app, link));
                let records = records.map(|record| record.without_columns(&DETAILS));
                Ok(part.list(records.collect(), "id"))
            }
            Self::Show { id } => Ok(record(app, &app.get_link(id).await?).into()),
            Self::Revoke { id } => {
                app.revoke_link(&Actor::Operator, id).await?;
                Ok(Record::default().with_text("id", id).into())
            }
        }
    }
}

impl Of {
    async fn list(
        self,
        app: &App,
        part: Part<ShareLinkId>,
    ) -> Result<Vec<ShareLink>, CommandError> {
        match (self.team, self.user) {
            (Some(team), None) => {
                let team = app.get_team(team).await?.id;
                Ok(app.list_team_links(team, part).await?)
            }
            (None, Some(user)) => {
                let user = app.get_user(user).await?.id;
                Ok(app.list_user_links(user, part).await?)
            }
            _ => Err(CommandError::Usage("give either --team or --user".into())),
        }
    }
}

/// Names the user, and what to do, since the interface's message addresses the caller.
fn refused(error: Error, user: UserId, item: ItemId) -> CommandError {
    match error {
        Error::NotAMember => CommandError::Failed(format!(
            "user {user} is not a member of the team of {item}; `invoicing member add` makes them one"
        )),
        other => other.into(),
    }
}

impl Create {
    /// The link to make, with its password read.
    fn read(self, user_id: UserId) -> Result<CreateLink, CommandError> {
        let item_id = match (self.item.file, self.item.folder) {
            (Some(file), None) => ItemId::File(file),
            (None, Some(folder)) => ItemId::Folder(folder),
            _ => return Err(CommandError::Usage("give either --file or --folder".into())),
        };
        let password = self
            .password_stdin
            .then(|| read_password(std::io::stdin().lock()));
        Ok(CreateLink {
            item_id,
            user_id,
            name: self.name,
            audience: self.audience,
            can_download: !self.no_download,
            password: password.transpose()?,
            expires_in: self.expires_in.map(Span::duration),
        })
    }
}

/// Reads one line, without its end.
fn read_password(input: impl Read) -> Result<Secret, CommandError> {
    let mut text = String::new();
    let read = input
        .take(PASSWORD_INPUT_MAX_BYTES)
        .read_to_string(&mut text);
    read.map_err(|error| CommandError::Failed(format!("cannot read the password: {error}")))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.contains('\n') {
        return Err(CommandError::Failed(
            "the password has more than one line; give exactly one".into(),
        ));
    }
    Ok(Secret::from_text(line))
}

/// The link in the form of the interface's ShareLink.
fn record(app: &App, link: &ShareLink) -> Record {
    let (item_type, item_id) = match link.item_id {
        ItemId::File(id) => ("file", id.to_string()),
        ItemId::Folder(id) => ("folder", id.to_string()),
    };
    let permissions = json!({
        "canView": link.permissions.can_view,
        "canDownload": link.permissions.can_download,
    });
    let created_by = json!({
        "id": link.created_by.id.to_string(),
        "displayName": link.created_by.display_name,
    });
    Record::default()
        .with_text("id", link.id)
        .with("url", link.url(app.public_url()).reveal())
        .with_optional("name", link.name.as_ref())
        .with("itemType", item_type)
        .with("itemId", item_id)
        .with_text("audience", link.audience)
        .with("permissions", permissions)
        .with("passwordProtected", link.password_protected)
        .with_distant_time("expiresAt", link.expires_at)
        .with_text("status", link.status(app.now()))
        .with("viewCount", link.view_count)
        .with("downloadCount", link.download_count)
        .with_distant_time("lastViewedAt", link.last_viewed_at)
        .with("createdBy", created_by)
        .with_time("createdAt", link.created_at)
        .with_time("updatedAt", link.updated_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(input: &str) -> Option<String> {
        read_password(input.as_bytes())
            .ok()
            .map(|password| password.reveal().to_owned())
    }

    #[test]
    fn a_password_is_one_line_without_its_end() {
        assert_eq!(password("s3 cret\n").as_deref(), Some("s3 cret"));
        assert_eq!(password("s3 cret\r\n").as_deref(), Some("s3 cret"));
        assert_eq!(password(" s3cret").as_deref(), Some(" s3cret"));
        assert_eq!(password("one\ntwo\n"), None);
    }
}
