//! What commands print about one-time links.

use crate::app::App;
use crate::domain::invitation::IssuedInvitation;
use crate::domain::one_time_link::IssuedLink;

use super::command_error::CommandError;
use super::record::Record;

/// The origin of the pages that links lead to.
///
/// # Errors
/// When there are no pages.
pub(super) fn origin(app: &App) -> Result<&str, CommandError> {
    app.origin().ok_or_else(|| {
        CommandError::Failed(
            "there are no pages: public_url has a path, or is in clear; say where people reach them: \
             --origin https://invoices.example.com"
                .into(),
        )
    })
}

/// A link, with its secret, which is shown only here.
pub(super) fn record(issued: &IssuedLink, origin: &str) -> Record {
    Record::default()
        .with("url", issued.url(origin).reveal())
        .with_distant_time("expiresAt", Some(issued.expires_at))
}

/// An invitation, with the secret of its link, which is shown only here.
pub(super) fn invitation(issued: &IssuedInvitation, origin: &str) -> Record {
    let invitation = &issued.invitation;
    Record::default()
        .with_text("id", invitation.id)
        .with("url", issued.url(origin).reveal())
        .with_distant_time("expiresAt", Some(invitation.expires_at))
}
