//! Importing a CSV file: first a plan of what it would do, then, on confirmation, all of that at once (docs/decisions.md,
//! W18, W34 to W38).
//!
//! The plan is kept for an hour, so that the page that shows it can be loaded again, and what is carried out is what was
//! shown. A team has few imports at once, because each takes memory, even before its file arrives.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;
use openapi_dropshot_runtime::Rejection;
use tokio::task::spawn_blocking;

use super::shelf::{Place, Shelf};
use crate::admin::Shortage::Turns;
use crate::app::product_import::MOST_TEXT;
use crate::domain::Error;
use crate::domain::id::ProductImportId;
use crate::domain::product_csv::{Column, Lines, MAX_BYTES, MAX_LINES, Reason};
use crate::domain::product_import::{Counts, ImportPlan, Planned, Seen};
use crate::http::Error::Overloaded;
use crate::http::{Api, Form};
use crate::pages::answer::{html, see_other};
use crate::pages::failure::Failure;
use crate::pages::frame::Frame;
use crate::pages::route::{Answer, Route, TeamPath};
use crate::pages::site::{self, Site};
use crate::pages::visit::Visit;

/// The complaint about a file whose products have too much text ([`MOST_TEXT`]).
const TOO_MUCH_TEXT: &str = "The products that this file is about have more than 16 MB of text, which is too much to change at \
                             once. Import it in smaller files; `invoicing product import` takes files of any size.";

/// How many lines of each kind are shown.
const SHOWN: usize = 100;

#[derive(Template)]
#[template(path = "products/import.html")]
struct ImportPage {
    frame: Frame,
    at: Place,
    /// Why the last file, or its plan, was refused.
    refused: Option<String>,
}

impl ImportPage {
    fn columns(&self) -> String {
        let names: Vec<_> = Column::ALL.iter().map(|it| it.as_str()).collect();
        names.join(", ")
    }
}

#[derive(Template)]
#[template(path = "products/plan.html")]
struct PlanPage {
    frame: Frame,
    at: Place,
    id: ProductImportId,
    counts: Counts,
    /// How many new products have no sku: importing them again adds them again.
    without_sku: usize,
    refused: Vec<(u64, Vec<Reason>)>,
    /// Line, name and price.
    new: Vec<(u64, String, String)>,
    /// Line, product and what is changed.
    changed: Vec<(u64, String, String)>,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/products/import")
        .shows("show_import", show_import)?
        .takes_file("plan_import", begin_upload, plan_import)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/products/import/plan")
        .shows("show_import_plan", show_import_plan)?
        .takes("carry_out_import", carry_out_import)?
        .and_no_more();
    Ok(())
}

async fn show_import(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    page(&visit, shelf, None)
}

/// Refuses users who may not import, and teams that import too much, before they send a file.
async fn begin_upload(
    visit: Arc<Visit>,
    path: TeamPath,
) -> Result<(TeamPath, site::Import), Failure> {
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let import = import(&visit, &shelf)?;
    let file = visit.site.take_file(shelf.member.catalog.team_id);
    file.map_err(Failure::FileTooSoon)?;
    Ok((path, import))
}

/// Reserves room for an import into `shelf`.
///
/// # Errors
/// [`Overloaded`] when there is none.
fn import(visit: &Visit, shelf: &Shelf) -> Result<site::Import, Failure> {
    let member = &shelf.member;
    let import = visit.site.import(member.catalog.team_id, member.user_id);
    Ok(import.ok_or(Rejection::Error(Overloaded(Turns)))?)
}

async fn plan_import(
    visit: Arc<Visit>,
    (path, import): (TeamPath, site::Import),
    form: Form,
) -> Answer {
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let file = form.file();
    if file.is_empty() {
        return page(&visit, shelf, Some("Choose a file first.".to_owned()));
    }
    let (app, person, catalog) = (visit.app(), visit.person()?, shelf.member.catalog);
    let planned = import.work(app.import_turn(catalog), async {
        let csv = file.clone();
        // Tens of milliseconds for the largest.
        let read = spawn_blocking(move || Lines::read(&csv));
        let lines = match read.await.map_err(Error::internal)? {
            Ok(lines) => lines,
            Err(error) => return Ok(Err(format!("{}.", capitalized(&error)))),
        };
        let mut seen = Seen::default();
        let plan = app.plan_import(catalog, lines, &mut seen).await?;
        if plan.text_bytes > MOST_TEXT {
            return Ok(Err(TOO_MUCH_TEXT.to_owned()));
        }
        let kept = app.keep_import_plan(&person, &plan, file.to_vec());
        kept.await.map(Ok)
    });
    let id = match planned.await? {
        Ok(id) => id,
        Err(refused) => return page(&visit, shelf, Some(refused)),
    };
    Ok(see_other(&format!(
        "{}&id={id}",
        shelf.at().page("/import/plan")
    )))
}

async fn show_import_plan(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let id = id(&visit)?;
    let import = import(&visit, &shelf)?;
    let (user_id, catalog) = (shelf.member.user_id, shelf.member.catalog);
    let app = visit.app();
    let kept = app.get_kept_import(user_id, catalog, id);
    match import.work(app.import_turn(catalog), kept).await {
        Ok(plan) => {
            let at = shelf.at();
            let page = PlanPage::new(Frame::of_team(&visit, shelf.team), at, id, &plan);
            Ok(html(StatusCode::OK, &page)?)
        }
        Err(error) => page(&visit, shelf, Some(not_any_more(error)?)),
    }
}

async fn carry_out_import(visit: Arc<Visit>, path: TeamPath, _: Form) -> Answer {
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let id = id(&visit)?;
    let import = import(&visit, &shelf)?;
    let (person, catalog) = (visit.person()?, shelf.member.catalog);
    let app = visit.app();
    let carry_out = async |begun| app.carry_out_kept_import(person, catalog, id, begun).await;
    let done = import.carry_out(app.import_turn(catalog), app.import_rest(), carry_out);
    let done = done.await;
    match done.map_err(Failure::ImportTooSoon)? {
        Ok(_) => Ok(see_other(&format!("{}&done=imported", shelf.at().page("")))),
        Err(error) => page(&visit, shelf, Some(not_any_more(error)?)),
    }
}

/// The plan that a query names.
fn id(visit: &Visit) -> Result<ProductImportId, Failure> {
    let id = visit.query("id").unwrap_or_default();
    id.parse().map_err(|_| Failure::NotFound)
}

/// Returns the complaint about a plan that is no longer valid.
fn not_any_more(error: Error) -> Result<String, Failure> {
    match error {
        Error::CatalogChanged => {
            let text = "The catalog has changed since the plan was made. Nothing is imported; choose the file again.";
            Ok(text.to_owned())
        }
        Error::ImportNotKept => {
            let text = "This plan was carried out, replaced by another, or is older than an hour. Choose the file again \
                        to see what is left to do.";
            Ok(text.to_owned())
        }
        error => Err(error.into()),
    }
}

fn capitalized(text: &impl ToString) -> String {
    let text = text.to_string();
    let mut rest = text.chars();
    let first = rest.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(rest).collect()
}

fn page(visit: &Visit, shelf: Shelf, refused: Option<String>) -> Answer {
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let page = ImportPage {
        at: shelf.at(),
        refused,
        frame: Frame::of_team(visit, shelf.team),
    };
    Ok(html(status, &page)?)
}

impl PlanPage {
    fn new(frame: Frame, at: Place, id: ProductImportId, plan: &ImportPlan) -> PlanPage {
        let planned = plan.planned.iter();
        let without_sku = planned.filter(|it| it.planned.is_without_sku());
        let mut page = PlanPage {
            frame,
            at,
            id,
            counts: plan.counts(),
            without_sku: without_sku.count(),
            refused: Vec::new(),
            new: Vec::new(),
            changed: Vec::new(),
        };
        for (line, read) in plan.planned.iter().zip(plan.lines.iter()) {
            let number = line.number;
            let cell = |column| {
                let cells = read.cells.as_ref().ok();
                cells.and_then(|cells| cells.given(column))
            };
            match &line.planned {
                Planned::New(new) if page.new.len() < SHOWN => {
                    let price = format!("{} {}", new.unit_price, new.currency);
                    page.new.push((number, new.name.clone(), price));
                }
                Planned::Changed(id, changes) if page.changed.len() < SHOWN => {
                    let product = [Column::Name, Column::Sku].into_iter().find_map(cell);
                    let product = product.map_or_else(|| id.to_string(), str::to_owned);
                    let differs = changes.fields().join(", ");
                    page.changed.push((number, product, differs));
                }
                Planned::Refused(reasons) if page.refused.len() < SHOWN => {
                    page.refused.push((number, reasons.clone()));
                }
                _ => {}
            }
        }
        page
    }

    /// How many products are added or changed.
    fn imported(&self) -> u64 {
        self.counts.new + self.counts.changed
    }
}
