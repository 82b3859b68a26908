//! The list of products, newest first.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::shelf::{Place, Shelf};
use crate::domain::catalog::Mode;
use crate::domain::product::{Product, ProductStatus, StatusFilter};
use crate::http::Api;
use crate::pages::answer::html;
use crate::pages::frame::Frame;
use crate::pages::route::{Answer, Route, TeamPath};
use crate::pages::site::Site;
use crate::pages::visit::Visit;

/// How many products are on a page.
const PRODUCTS: u32 = 50;

#[derive(Template)]
#[template(path = "products/list.html")]
struct ProductsPage {
    frame: Frame,
    at: Place,
    status: StatusFilter,
    products: Vec<Product>,
    may_write: bool,
    /// Whether these are not the newest.
    is_later: bool,
    /// The cursor of the next page.
    next: Option<String>,
    /// What was done on the page before.
    done: Option<&'static str>,
}

impl ProductsPage {
    /// Returns where the newest are, for the pager.
    fn first(&self) -> Option<String> {
        self.is_later.then(|| self.at.list(self.status, None))
    }

    /// Returns where the older ones are.
    fn next(&self) -> Option<String> {
        let next = self.next.as_deref()?;
        Some(self.at.list(self.status, Some(next)))
    }

    /// Returns where the team's other catalog is.
    fn other(&self) -> Place {
        Place {
            team: self.at.team.clone(),
            mode: match self.at.mode {
                Mode::Live => Mode::Test,
                Mode::Test => Mode::Live,
            },
        }
    }
}

/// Adds the page.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/products")
        .shows("show_products", show_products)?
        .and_no_more();
    Ok(())
}

async fn show_products(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let shelf = Shelf::of(&visit, &path.team).await?;
    let status = Shelf::status(&visit)?;
    visit.list_turn(shelf.team.id, shelf.team.id).await?;
    let after = visit.query("after");
    let listed = visit
        .app()
        .list_products(&shelf.member, status, PRODUCTS, after.as_deref())
        .await?;
    let done = match visit.query("done").as_deref() {
        Some("created") => Some("The product is in the list."),
        Some("changed") => Some("The product is changed."),
        Some("archived") => Some("The product is archived."),
        Some("imported") => Some("The products are imported."),
        _ => None,
    };
    let page = ProductsPage {
        at: shelf.at(),
        status,
        products: listed.items,
        may_write: shelf.member.role.may_write(),
        is_later: after.is_some(),
        next: listed.next,
        done,
        frame: Frame::of_team(&visit, shelf.team),
    };
    Ok(html(StatusCode::OK, &page)?)
}
