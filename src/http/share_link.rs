//! Share links, as the document of the mobile API has them.

use openapi_dropshot_runtime::{Rejection, Unchecked};

use super::context::{RequestContext, still_allowed};
use super::credential::require_access_token;
use super::error;
use super::received::list_turn;
use super::rejection::Error;
use crate::app::App;
use crate::domain;
use crate::domain::id::TeamId;
use crate::domain::item::{ItemId, ItemType};
use crate::domain::session::SignedIn;
use crate::domain::share_link::{Audience, ShareLink, ShareLinkStatus};
use crate::generated::mobile::*;

/// The links of a file or folder. The team comes first, then whether the caller is a member of it, and only then the rest of
/// the request (docs/decisions.md, B3).
pub(super) async fn list_links(
    context: &RequestContext,
    caller: SignedIn,
    request: Unchecked<ListLinksRequest>,
) -> Result<ListLinksAnswer, Rejection<Error>> {
    let app: &App = &context.context().app;
    let permit = context.context().concurrency.acquire(caller.user_id.into());
    let _permit = permit.map_err(Rejection::Error)?;
    let team_id: TeamId = request.headers()?.x_team_id.0.into();
    // Checked again with the links, since it may end meanwhile: here it only decides who is told what is wrong with the
    // rest.
    app.membership(team_id, caller.user_id).await?;
    let request = request.check().await?;
    let item_id = ItemId::new(item_type(request.target_type), request.id.0);
    let list = async {
        list_turn(context, &caller, team_id, caller.user_id.into()).await?;
        Ok(app.list_links(caller.user_id, team_id, item_id).await?)
    };
    let check = async |_: &Vec<ShareLink>| {
        let valid = require_access_token(context).await;
        valid.map_err(Rejection::Error)?;
        let is_member = app.membership(team_id, caller.user_id).await;
        Ok(is_member.map(drop)?)
    };
    let links: Result<_, Rejection<Error>> = still_allowed(list, check).await;
    Ok(ListLinksAnswer::new(
        page_response(app, links?)?,
        types::CacheControl::NoStore,
    ))
}

fn item_type(target: types::TargetType) -> ItemType {
    match target {
        types::TargetType::File => ItemType::File,
        types::TargetType::Folder => ItemType::Folder,
    }
}

/// All of the links: an item has no more than one page of them.
fn page_response(
    app: &App,
    links: Vec<ShareLink>,
) -> Result<types::ShareLinkPageResponse, domain::Error> {
    let links = links.into_iter().map(|link| published(app, link));
    let data = links.collect::<Result<_, _>>()?;
    let page = types::ShareLinkPage {
        data,
        has_more: false,
        next_cursor: None,
    };
    Ok(types::ShareLinkPageResponse { data: page })
}

/// The link in the document's terms.
fn published(app: &App, link: ShareLink) -> Result<types::ShareLink, domain::Error> {
    Ok(types::ShareLink {
        id: link.id.0.into(),
        url: error::published(link.url(app.public_url()).reveal())?,
        status: match link.status(app.now()) {
            ShareLinkStatus::Active => types::ShareLinkStatus::Active,
            ShareLinkStatus::Expired => types::ShareLinkStatus::Expired,
        },
        name: link.name.map(error::published).transpose()?,
        item_type: match link.item_id.item_type() {
            ItemType::File => types::TargetType::File,
            ItemType::Folder => types::TargetType::Folder,
        },
        item_id: link.item_id.uuid().into(),
        audience: match link.audience {
            Audience::Public => types::ShareLinkAudience::Public,
            Audience::Team => types::ShareLinkAudience::Team,
        },
        permissions: types::ShareLinkPermissions {
            can_view: link.permissions.can_view,
            can_download: link.permissions.can_download,
        },
        password_protected: link.password_protected,
        expires_at: link.expires_at.map(|it| it.to_datetime().into()),
        view_count: error::published(link.view_count)?,
        download_count: error::published(link.download_count)?,
        last_viewed_at: link.last_viewed_at.map(|it| it.to_datetime().into()),
        created_by: types::ShareLinkCreator {
            id: link.created_by.id.0.into(),
            display_name: error::published(link.created_by.display_name)?,
        },
        created_at: link.created_at.to_datetime().into(),
        updated_at: link.updated_at.to_datetime().into(),
    })
}
