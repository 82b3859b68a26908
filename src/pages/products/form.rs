//! Adding, changing and archiving a product.
//!
//! 1. What is typed is checked against the published document, as an import is, and errors appear at their fields.
//! 2. A form that adds a product has a name of its own, and is carried out once however often it is sent, like an API
//!    request with an idempotency key. No caller of the API can have such a key: it has a space.
//! 3. A form that changes one says which state of the product it shows. If that is not the latest, nothing is changed, and
//!    the user is asked to look. Only what differs from the product is changed.

use std::borrow::Cow;
use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;
use openapi_dropshot_runtime::json::Value;
use openapi_dropshot_runtime::schema::{Kind, Schema};

use super::shelf::{Place, Shelf};
use crate::app::product_import::SCHEMAS;
use crate::domain::Error;
use crate::domain::error::Complaint;
use crate::domain::id::ProductId;
use crate::domain::idempotency::IdempotentRequest;
use crate::domain::product::{Product, ProductStatus};
use crate::domain::product_csv::{Cells, Column, FIELDS, Reason, text_of};
use crate::domain::product_import::{new_product, product_changes};
use crate::domain::secret::Secret;
use crate::domain::time::Timestamp;
use crate::generated::catalog::schemas;
use crate::http::{Api, Form};
use crate::pages::answer::{html, see_other};
use crate::pages::failure::Failure;
use crate::pages::frame::Frame;
use crate::pages::route::{Answer, Route, TeamPath};
use crate::pages::site::Site;
use crate::pages::visit::Visit;

#[derive(Template)]
#[template(path = "products/form.html")]
struct ProductPage {
    frame: Frame,
    at: Place,
    /// Which product is changed; none for a new one.
    product: Option<Seen>,
    /// The form's own name, for a new one.
    once: String,
    typed: Cells,
    complaints: Vec<Complaint>,
    /// What is wrong with the form as a whole.
    refused: Option<&'static str>,
}

/// The state of a product that a form shows.
struct Seen {
    id: ProductId,
    updated_at: Timestamp,
}

impl Seen {
    fn of(product: &Product) -> Seen {
        Seen {
            id: product.id,
            updated_at: product.updated_at,
        }
    }
}

impl ProductPage {
    fn value(&self, column: Column) -> &str {
        self.typed.get(column).unwrap_or_default()
    }

    fn currencies(&self) -> &'static [&'static str] {
        enumeration(&schemas::CurrencyCode)
    }

    fn types(&self) -> &'static [&'static str] {
        enumeration(&schemas::ProductType)
    }

    fn units(&self) -> &'static [&'static str] {
        enumeration(&schemas::UnitOfMeasure)
    }
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/products/new")
        .shows("show_new_product", show_new_product)?
        .takes("add_product", create_product)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/products/edit")
        .shows("show_product", show_product)?
        .takes("edit_product", update_product)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/products/archive")
        .takes("archive_on_page", archive_product)?
        .and_no_more();
    Ok(())
}

async fn show_new_product(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    page(&visit, shelf, None, Refused::default()).await
}

async fn create_product(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let [once] = form.fields(["once"])?;
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let typed = typed(&form)?;
    let product = match new_product(&typed, SCHEMAS.create) {
        Ok(product) => product,
        Err(reasons) => return page(&visit, shelf, None, Refused::reasons(typed, reasons)).await,
    };
    // Step 2.
    if !Secret::is_base64url(&once) {
        return page(&visit, shelf, None, Refused::all(typed, INCOMPLETE)).await;
    }
    let request = Some(request(&shelf, &once, &typed));
    let created = visit.app().create_product(&shelf.member, product, request);
    match created.await {
        Ok(_) => Ok(see_other(&format!("{}&done=created", shelf.at().page("")))),
        Err(error) => page(&visit, shelf, None, Refused::error(typed, error)?).await,
    }
}

async fn show_product(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let product = find(&visit, &shelf).await?;
    let shown = Refused {
        typed: cells(&product),
        ..Refused::default()
    };
    page(&visit, shelf, Some(Seen::of(&product)), shown).await
}

async fn update_product(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let [seen] = form.fields(["seen"])?;
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let product = find(&visit, &shelf).await?;
    let typed = untouched(&typed(&form)?, &product);
    let shown = Seen::of(&product);
    let seen = state(&seen);
    if seen != Some(product.updated_at) {
        let refused = Refused::changed(typed, &product);
        return page(&visit, shelf, Some(shown), refused).await;
    }
    let mut changes = match product_changes(&product, &typed, SCHEMAS.update) {
        Ok(Some(changes)) => changes,
        Ok(None) => {
            // What was typed may be there already, since it was sent before.
            visit
                .app()
                .rely_on_product(&shelf.member, product.id)
                .await?;
            return Ok(see_other(&shelf.at().page("")));
        }
        Err(reasons) => {
            return page(&visit, shelf, Some(shown), Refused::reasons(typed, reasons)).await;
        }
    };
    changes.unchanged_since = seen;
    let updated = visit
        .app()
        .update_product(&shelf.member, product.id, changes, None);
    match updated.await {
        Ok(_) => Ok(see_other(&format!("{}&done=changed", shelf.at().page("")))),
        Err(Error::ProductChanged) => {
            let product = find(&visit, &shelf).await?;
            let refused = Refused::changed(typed, &product);
            page(&visit, shelf, Some(Seen::of(&product)), refused).await
        }
        Err(error) => page(&visit, shelf, Some(shown), Refused::error(typed, error)?).await,
    }
}

async fn archive_product(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let [seen] = form.fields(["seen"])?;
    let shelf = Shelf::to_change(&visit, &path.team).await?;
    let id = id(&visit)?;
    let seen = state(&seen).ok_or(Failure::NotFound)?;
    let archived = visit.app().archive_product(&shelf.member, id, Some(seen));
    match archived.await {
        Ok(()) => Ok(see_other(&format!("{}&done=archived", shelf.at().page("")))),
        Err(Error::ProductChanged) => {
            let product = find(&visit, &shelf).await?;
            let refused = Refused::changed(cells(&product), &product);
            page(&visit, shelf, Some(Seen::of(&product)), refused).await
        }
        Err(Error::ProductNotFound) => Err(Failure::NotFound),
        Err(error) => Err(error.into()),
    }
}

/// The product that a query names.
fn id(visit: &Visit) -> Result<ProductId, Failure> {
    let id = visit.query("id").unwrap_or_default();
    id.parse().map_err(|_| Failure::NotFound)
}

/// The state that a form shows.
fn state(seen: &str) -> Option<Timestamp> {
    seen.parse().ok().map(Timestamp::from_millis)
}

/// Returns the product of a query, if it can be changed here: an archived one is only for the documents that have it.
async fn find(visit: &Visit, shelf: &Shelf) -> Result<Product, Failure> {
    match visit.app().get_product(&shelf.member, id(visit)?).await {
        Ok(product) if product.status == ProductStatus::Active => Ok(product),
        Ok(_) | Err(Error::ProductNotFound) => Err(Failure::NotFound),
        Err(error) => Err(error.into()),
    }
}

/// Step 2: what a form asks for, under its name.
fn request(shelf: &Shelf, once: &str, typed: &Cells) -> IdempotentRequest {
    let members = FIELDS.into_iter().map(|column| {
        let text = typed.get(column).unwrap_or_default();
        (column.as_str().into(), Value::String(text.into()))
    });
    let body = Value::Object(members.collect());
    let key = format!("page {} {once}", shelf.member.user_id);
    IdempotentRequest::new(key, "POST", &shelf.at().page("/new"), &body)
}

/// Returns what was typed. A browser ends the lines of a text with CRLF, whatever they were.
fn typed(form: &Form) -> Result<Cells, Failure> {
    let texts = form.fields(FIELDS.map(Column::as_str))?;
    Ok(Cells::typed(
        FIELDS,
        texts.map(|it| it.replace("\r\n", "\n")),
    ))
}

/// Returns what was typed, with the product's own text in every field that was not touched: a browser sends the lines of a
/// text with CRLF between them, and those of a one-line field without.
fn untouched(typed: &Cells, product: &Product) -> Cells {
    let texts = FIELDS.map(|column| {
        let stored = text_of(product, column);
        let shown = match column {
            Column::Description => stored.replace("\r\n", "\n").replace('\r', "\n"),
            _ => stored.replace(['\r', '\n'], ""),
        };
        let typed = typed.get(column).unwrap_or_default();
        match typed == shown {
            true => stored,
            false => typed.to_owned(),
        }
    });
    Cells::typed(FIELDS, texts)
}

/// Returns what a form shows of a product before any change.
fn cells(product: &Product) -> Cells {
    let texts = FIELDS.map(|column| text_of(product, column));
    Cells::typed(FIELDS, texts)
}

fn enumeration(schema: &Schema) -> &'static [&'static str] {
    match &schema.kind {
        Kind::String(text) => text.enumeration,
        _ => &[],
    }
}

/// What a form comes back with.
#[derive(Default)]
struct Refused {
    typed: Cells,
    complaints: Vec<Complaint>,
    of_all: Option<&'static str>,
}

impl Refused {
    /// For what the document does not allow.
    fn reasons(typed: Cells, reasons: Vec<Reason>) -> Refused {
        let complaint = |reason: Reason| Complaint {
            field: reason.column.unwrap_or(Column::Name).as_str(),
            message: Cow::into_owned(reason.text),
        };
        Refused {
            typed,
            complaints: reasons.into_iter().map(complaint).collect(),
            of_all: None,
        }
    }

    /// For what the service refuses.
    ///
    /// # Errors
    /// Any error that is not about what was typed.
    fn error(typed: Cells, error: Error) -> Result<Refused, Failure> {
        let of_all = match error {
            Error::DuplicateSku => {
                let text = "is that of another active product";
                let reason = Reason::of_cell(Column::Sku, text);
                return Ok(Refused::reasons(typed, vec![reason]));
            }
            Error::IdempotencyKeyReused => {
                "This form has added a product before. To add another one like this, send it again."
            }
            Error::ProductNotFound => return Err(Failure::NotFound),
            error => return Err(error.into()),
        };
        Ok(Refused::all(typed, of_all))
    }

    /// For what concerns no single field.
    fn all(typed: Cells, of_all: &'static str) -> Refused {
        Refused {
            typed,
            complaints: Vec::new(),
            of_all: Some(of_all),
        }
    }

    /// For a product that has changed: each field that would be changed back shows what is stored.
    fn changed(typed: Cells, product: &Product) -> Refused {
        let complaints = FIELDS.into_iter().filter_map(|column| {
            let stored = text_of(product, column);
            (typed.get(column) != Some(&stored)).then(|| Complaint {
                field: column.as_str(),
                message: match stored.is_empty() {
                    true => "is empty now".to_owned(),
                    false => format!("is “{stored}” now"),
                },
            })
        });
        let complaints = complaints.collect();
        Refused {
            complaints,
            ..Refused::all(typed, CHANGED)
        }
    }
}

const CHANGED: &str = "Somebody has changed this product since this form was opened. What is stored now stands at each field \
     that differs. Look at them, then save again.";

const INCOMPLETE: &str = "The form did not come whole. Send it again.";

async fn page(visit: &Visit, shelf: Shelf, product: Option<Seen>, refused: Refused) -> Answer {
    let is_refused = !refused.complaints.is_empty() || refused.of_all.is_some();
    if is_refused {
        // What was typed may be long.
        visit.own_page_turn().await?;
    }
    let status = match is_refused {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::OK,
    };
    let page = ProductPage {
        at: shelf.at(),
        product,
        once: Secret::base64url().reveal().to_owned(),
        typed: refused.typed,
        complaints: refused.complaints,
        refused: refused.of_all,
        frame: Frame::of_team(visit, shelf.team),
    };
    Ok(html(status, &page)?)
}
