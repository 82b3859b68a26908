//! `/teams/{team}/links`: the share links of a team's files and folders, and revoking one (docs/decisions.md, W10, W20).

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::{html, see_other};
use super::confirm::confirmed;
use super::failure::Failure;
use super::frame::{Frame, FramedTeam};
use super::pager::Pager;
use super::route::{Answer, Route, TeamPath};
use super::site::Site;
use super::text::Time;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::id::ShareLinkId;
use crate::domain::item::ItemType;
use crate::domain::share_link::{Audience, ListedShareLink, ShareLinkStatus};
use crate::domain::time::Timestamp;
use crate::http::{Api, Form};

#[derive(Template)]
#[template(path = "links.html")]
struct LinksPage {
    frame: Frame,
    path: String,
    links: Vec<LinkRow>,
    /// Whether the signed-in user may revoke one.
    may_write: bool,
    pager: Pager,
}

/// A link as the table shows it.
struct LinkRow {
    id: ShareLinkId,
    item: String,
    item_type: ItemType,
    name: Option<String>,
    audience: &'static str,
    password_protected: bool,
    expires_at: Option<Time>,
    is_expired: bool,
    views: i64,
    downloads: i64,
    created_by: String,
    created_at: Time,
}

impl LinkRow {
    fn new(ListedShareLink { link, item_name }: ListedShareLink, now: Timestamp) -> LinkRow {
        LinkRow {
            id: link.id,
            item: item_name,
            item_type: link.item_id.item_type(),
            audience: match link.audience {
                Audience::Public => "Whoever has it",
                Audience::Team => "The team",
            },
            password_protected: link.password_protected,
            is_expired: link.status(now) == ShareLinkStatus::Expired,
            expires_at: link.expires_at.map(Time),
            views: link.view_count,
            downloads: link.download_count,
            created_by: link.created_by.display_name,
            created_at: Time(link.created_at),
            name: link.name,
        }
    }
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/links")
        .shows("show_links", show_links)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/links/revoke")
        .takes("revoke_link", revoke_link)?
        .and_no_more();
    Ok(())
}

fn path(team: &FramedTeam) -> String {
    format!("/teams/{}/links", team.id)
}

async fn show_links(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let team = visit.team(&path.team).await?;
    let path = self::path(&team);
    let (mut pager, part) = Pager::new(&visit, path.clone())?;
    let user_id = visit.user_id()?;
    visit.list_turn(team.id, user_id).await?;
    let links = visit.app().list_named_links(user_id, team.id, part).await?;
    let links = pager.page(links, |it| it.link.id);
    let now = visit.app().now();
    let page = LinksPage {
        path,
        links: links.into_iter().map(|it| LinkRow::new(it, now)).collect(),
        may_write: team.role.may_write(),
        frame: Frame::of_team(&visit, team),
        pager,
    };
    Ok(html(StatusCode::OK, &page)?)
}

async fn revoke_link(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.team(&path.team).await?;
    if !team.role.may_write() {
        return Err(Error::RoleInsufficient.into());
    }
    let [id] = form.fields(["id"])?;
    confirmed(&visit, &form, &[("id", id.as_str())]).await?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    visit.app().revoke_link(&visit.actor()?, id).await?;
    Ok(see_other(&self::path(&team)))
}
