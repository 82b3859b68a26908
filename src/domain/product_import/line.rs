//! Decides what to do with one line: rules 1 to 4.

use openapi_dropshot_runtime::json::Value;
use openapi_dropshot_runtime::schema::{Schema, check};
use openapi_dropshot_runtime::{Decimal, DecimalError, Field};

use super::plan::{Found, Planned, Seen};
use crate::domain::catalog::Mode;
use crate::domain::id::ProductId;
use crate::domain::product::{NewProduct, Product, ProductChanges, ProductStatus};
use crate::domain::product_csv::{Cells, Column, FIELDS, Line, Reason};

/// The schemas of the bodies of POST and PATCH, from the published document.
#[derive(Clone, Copy, Debug)]
pub struct Schemas {
    /// A new product.
    pub create: &'static Schema,
    /// The changes to a product.
    pub update: &'static Schema,
}

/// Decides what to do with a line, or why to refuse it.
pub(super) fn decide(
    line: &Line,
    found: &Found,
    schemas: &Schemas,
    seen: &mut Seen,
) -> Result<Planned, Vec<Reason>> {
    let cells = line.cells.as_ref().map_err(|reason| vec![reason.clone()])?;
    match product(cells, found)? {
        None => {
            require_status(cells, ProductStatus::Active)?;
            let new = new_product(cells, schemas.create)?;
            seen.note(line.number, None, new.sku.as_deref())
                .map_err(one)?;
            Ok(Planned::New(Box::new(new)))
        }
        Some(product) => {
            require_status(cells, product.status)?;
            let differing = differing(product, cells);
            require_active(product, &differing)?;
            let changes = changes(&differing, schemas.update)?;
            require_free_sku(&differing, found)?;
            let sku = changes.sku.clone().apply_to(product.sku.clone());
            // An archived product's sku is free.
            let sku = sku.filter(|_| product.status == ProductStatus::Active);
            seen.note(line.number, Some(product.id), sku.as_deref())
                .map_err(one)?;
            Ok(match differing.is_empty() {
                true => Planned::Unchanged(product.id),
                false => Planned::Changed(product.id, Box::new(changes)),
            })
        }
    }
}

/// Rule 1: the product that a line is for; `None` for a new one.
fn product<'a>(cells: &Cells, found: &'a Found) -> Result<Option<&'a Product>, Vec<Reason>> {
    let refused = |text: String| one(Reason::of_cell(Column::Id, text));
    let Some(id) = cells.given(Column::Id) else {
        let id = cells.given(Column::Sku).and_then(|it| found.by_sku.get(it));
        return Ok(id.and_then(|id| found.products.get(id)));
    };
    let id = id
        .parse::<ProductId>()
        .map_err(|error| refused(format!("is no id; {error}")))?;
    match found.products.get(&id) {
        Some(product) => Ok(Some(product)),
        None => Err(refused(format!(
            "is of no product of this team and mode ({} or {}); leave it empty for a new product",
            Mode::Live,
            Mode::Test
        ))),
    }
}

/// An import archives nothing, and restores nothing.
fn require_status(cells: &Cells, status: ProductStatus) -> Result<(), Vec<Reason>> {
    match cells.given(Column::Status) {
        Some(text) if text != status.as_str() => Err(one(Reason::of_cell(
            Column::Status,
            format!("must be empty or {status}; an import changes no status"),
        ))),
        _ => Ok(()),
    }
}

/// Whether a product already has a cell's value. An empty text and a missing one look alike in CSV, and count as equal.
fn says(product: &Product, column: Column, cell: &str) -> bool {
    let text = |value: &Option<String>| value.as_deref().unwrap_or_default() == cell;
    match column {
        Column::Name => product.name == cell,
        Column::UnitPrice => cell.parse().as_ref() == Ok(&product.unit_price),
        Column::Currency => product.currency == cell,
        Column::Description => text(&product.description),
        Column::Sku => text(&product.sku),
        Column::TaxRate => match &product.tax_rate {
            Some(rate) => cell.parse().as_ref() == Ok(rate),
            None => cell.is_empty(),
        },
        Column::Type => text(&product.product_type),
        Column::UnitOfMeasure => text(&product.unit_of_measure),
        Column::Id | Column::Status => true,
    }
}

/// Rules 2 and 3 for an existing product: the changes, if its cells differ from it; `None` if they do not.
///
/// # Errors
/// What the document refuses, by column.
pub fn product_changes(
    product: &Product,
    cells: &Cells,
    schema: &Schema,
) -> Result<Option<ProductChanges>, Vec<Reason>> {
    let differing = differing(product, cells);
    let changes = changes(&differing, schema)?;
    Ok((!differing.is_empty()).then_some(changes))
}

/// The cells that differ from a product.
fn differing<'a>(product: &Product, cells: &'a Cells) -> Vec<(Column, &'a str)> {
    let cells = FIELDS
        .into_iter()
        .filter_map(|column| Some((column, cells.get(column)?)));
    cells
        .filter(|(column, text)| !says(product, *column, text))
        .collect()
}

fn require_active(product: &Product, differing: &[(Column, &str)]) -> Result<(), Vec<Reason>> {
    match differing.first() {
        Some((column, _)) if product.status == ProductStatus::Archived => {
            let text =
                "would change, but the product is archived; restore the cell or leave the line out";
            Err(one(Reason::of_cell(*column, text)))
        }
        _ => Ok(()),
    }
}

fn require_free_sku(differing: &[(Column, &str)], found: &Found) -> Result<(), Vec<Reason>> {
    let sku = differing.iter().find(|(column, _)| *column == Column::Sku);
    match sku.and_then(|(_, sku)| found.by_sku.get(*sku)) {
        Some(other) => {
            let text = format!("is that of the active product {other}");
            Err(one(Reason::of_cell(Column::Sku, text)))
        }
        None => Ok(()),
    }
}

fn changes(differing: &[(Column, &str)], schema: &Schema) -> Result<ProductChanges, Vec<Reason>> {
    let members = differing.iter().map(|(column, text)| match *text {
        "" => (*column, Value::Null),
        text => (*column, value(*column, text)),
    });
    require(schema, members)?;
    let given = |column| differing.iter().find(|it| it.0 == column).map(|it| it.1);
    let text = |column| given(column).map(str::to_owned);
    Ok(ProductChanges {
        name: text(Column::Name),
        unit_price: given(Column::UnitPrice).and_then(|text| text.parse().ok()),
        currency: text(Column::Currency),
        description: field(given(Column::Description), |text| Some(text.to_owned())),
        sku: field(given(Column::Sku), |text| Some(text.to_owned())),
        tax_rate: field(given(Column::TaxRate), |text| text.parse().ok()),
        product_type: text(Column::Type),
        unit_of_measure: text(Column::UnitOfMeasure),
        unchanged_since: None,
    })
}

/// A field that may be cleared, which an empty cell does.
fn field<T>(cell: Option<&str>, read: impl Fn(&str) -> Option<T>) -> Field<T> {
    match cell {
        None => Field::Absent,
        Some("") => Field::Null,
        Some(text) => read(text).map_or(Field::Absent, Field::Value),
    }
}

/// Rules 2 and 3 for a new product.
///
/// # Errors
/// What the document refuses, by column.
pub fn new_product(cells: &Cells, schema: &Schema) -> Result<NewProduct, Vec<Reason>> {
    let members = FIELDS
        .into_iter()
        .filter_map(|column| Some((column, value(column, cells.given(column)?))));
    require(schema, members)?;
    let text = |column| cells.given(column).map(str::to_owned);
    let price = cells
        .given(Column::UnitPrice)
        .and_then(|it| it.parse().ok());
    // The schema requires all three.
    let (Some(name), Some(price), Some(currency)) =
        (text(Column::Name), price, text(Column::Currency))
    else {
        return Err(one(Reason::of_line("needs name, unitPrice and currency")));
    };
    Ok(NewProduct {
        description: text(Column::Description),
        sku: text(Column::Sku),
        tax_rate: cells.given(Column::TaxRate).and_then(|it| it.parse().ok()),
        product_type: text(Column::Type),
        unit_of_measure: text(Column::UnitOfMeasure),
        ..NewProduct::new(name, price, currency)
    })
}

fn is_numeric(column: Column) -> bool {
    matches!(column, Column::UnitPrice | Column::TaxRate)
}

/// A cell as a member of a JSON body. In a numeric column, what is not a number stays a string, for the schema to
/// refuse.
fn value(column: Column, text: &str) -> Value<'_> {
    match text.parse::<Decimal>() {
        Ok(_) | Err(DecimalError::Precision) if is_numeric(column) => Value::Number(text),
        _ => Value::String(text.into()),
    }
}

/// Checks a body against its schema, and reports what is wrong by column.
fn require<'a>(
    schema: &Schema,
    members: impl Iterator<Item = (Column, Value<'a>)>,
) -> Result<(), Vec<Reason>> {
    let members = members.map(|(column, value)| (column.as_str().into(), value));
    let violations = check(schema, &Value::Object(members.collect()));
    let reasons: Vec<_> = violations
        .into_iter()
        .map(|violation| {
            let column = violation.path.trim_start_matches('/').parse().ok();
            let is_no_number = violation.constraint == "type" && column.is_some_and(is_numeric);
            // All cells are text, so do not complain that one is a string.
            let text = match is_no_number {
                true => "must be a number, such as 19.90".into(),
                false => violation.message,
            };
            Reason { column, text }
        })
        .collect();
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(reasons),
    }
}

fn one(reason: Reason) -> Vec<Reason> {
    vec![reason]
}
