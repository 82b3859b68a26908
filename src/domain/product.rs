//! Products: what a team sells, as its invoices and estimates will name it.
//!
//! The rules beyond those for single fields, which the published document states and which are checked on the way in:
//!
//! 1. A product lives in one [`Catalog`](super::catalog::Catalog) and is invisible from every other.
//! 2. Two active products of a catalog never share a sku. Archived ones do not count, neither as the other product nor
//!    when they are changed themselves.
//! 3. Archiving is permanent, and happens once.
//! 4. `updated_at` moves strictly forward with every change, whatever the clock does.

use openapi_dropshot_runtime::{Decimal, Field};

use super::Error;
use super::id::ProductId;
use super::string_enum::string_enum;
use super::time::Timestamp;

string_enum! {
    /// Whether a product can be put on new documents.
    ProductStatus {
        /// It can be put on new documents.
        Active = "active",
        /// It cannot, but stays for the documents that have it.
        Archived = "archived",
    }
}

string_enum! {
    /// Which products a list shows.
    StatusFilter {
        /// Those that are active.
        Active = "active",
        /// Those that are archived.
        Archived = "archived",
        /// All of them.
        All = "all",
    }
}

impl StatusFilter {
    /// The status that a product must have to be listed, if that matters.
    pub fn status(self) -> Option<ProductStatus> {
        match self {
            StatusFilter::Active => Some(ProductStatus::Active),
            StatusFilter::Archived => Some(ProductStatus::Archived),
            StatusFilter::All => None,
        }
    }
}

/// A product. Its serialized form is what an idempotency record keeps of an answer (the published document defines what
/// clients see). Records outlive an upgrade: a field added later needs a default. Fields that a product does not have
/// are left out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Product {
    /// Identifies it, and places it in lists.
    pub id: ProductId,
    /// What it is called.
    pub name: String,
    /// The price of one unit, in `currency`.
    pub unit_price: Decimal,
    /// ISO 4217 alphabetic code.
    pub currency: String,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The team's own code for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sku: Option<String>,
    /// In percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax_rate: Option<Decimal>,
    /// Goods or services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_type: Option<String>,
    /// What one unit is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_of_measure: Option<String>,
    /// Active until it is archived.
    pub status: ProductStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was created, changed or archived, whichever was last.
    pub updated_at: Timestamp,
}

/// What a caller gives to create a product. The fields are those of [`Product`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented at Product")]
pub struct NewProduct {
    pub name: String,
    pub unit_price: Decimal,
    pub currency: String,
    pub description: Option<String>,
    pub sku: Option<String>,
    pub tax_rate: Option<Decimal>,
    pub product_type: Option<String>,
    pub unit_of_measure: Option<String>,
}

/// What a caller wants changed: `None` and [`Field::Absent`] keep the value, [`Field::Null`] clears it.
/// The fields are those of [`Product`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented at Product")]
pub struct ProductChanges {
    pub name: Option<String>,
    pub unit_price: Option<Decimal>,
    pub currency: Option<String>,
    pub description: Field<String>,
    pub sku: Field<String>,
    pub tax_rate: Field<Decimal>,
    pub product_type: Option<String>,
    pub unit_of_measure: Option<String>,
    /// Refuse if the product was changed after this, the last change that the caller has seen.
    pub unchanged_since: Option<Timestamp>,
}

/// A page of a list, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<String>,
}

impl ProductChanges {
    /// Which fields are changed, as the interface names them.
    pub fn fields(&self) -> Vec<&'static str> {
        let given = [
            ("name", self.name.is_some()),
            ("unitPrice", self.unit_price.is_some()),
            ("currency", self.currency.is_some()),
            ("description", self.description != Field::Absent),
            ("sku", self.sku != Field::Absent),
            ("taxRate", self.tax_rate != Field::Absent),
            ("type", self.product_type.is_some()),
            ("unitOfMeasure", self.unit_of_measure.is_some()),
        ];
        given.iter().filter(|it| it.1).map(|it| it.0).collect()
    }
}

impl NewProduct {
    /// A product with only the required fields.
    pub fn new(name: impl Into<String>, unit_price: Decimal, currency: impl Into<String>) -> Self {
        NewProduct {
            name: name.into(),
            unit_price,
            currency: currency.into(),
            description: None,
            sku: None,
            tax_rate: None,
            product_type: None,
            unit_of_measure: None,
        }
    }

    /// The product that is created: active, and created at `now`.
    pub fn into_product(self, id: ProductId, now: Timestamp) -> Product {
        Product {
            id,
            name: self.name,
            unit_price: self.unit_price,
            currency: self.currency,
            description: self.description,
            sku: self.sku,
            tax_rate: self.tax_rate,
            product_type: self.product_type,
            unit_of_measure: self.unit_of_measure,
            status: ProductStatus::Active,
            created_at: now,
            updated_at: now,
        }
    }
}

impl Product {
    /// About how many bytes of text it has.
    pub fn text_bytes(&self) -> usize {
        let optional = [&self.description, &self.sku].map(|it| it.as_ref().map_or(0, String::len));
        self.name.len() + optional.iter().sum::<usize>()
    }

    /// The product after a PATCH; an archived one can be changed too (docs/decisions.md, C8).
    #[must_use]
    pub fn update(self, changes: ProductChanges, now: Timestamp) -> Product {
        Product {
            updated_at: self.next_update(now),
            name: changes.name.unwrap_or(self.name),
            unit_price: changes.unit_price.unwrap_or(self.unit_price),
            currency: changes.currency.unwrap_or(self.currency),
            description: changes.description.apply_to(self.description),
            sku: changes.sku.apply_to(self.sku),
            tax_rate: changes.tax_rate.apply_to(self.tax_rate),
            product_type: changes.product_type.or(self.product_type),
            unit_of_measure: changes.unit_of_measure.or(self.unit_of_measure),
            ..self
        }
    }

    /// Refuses a change that rests on an older state of the product: `seen` is the last change in that state, if given.
    ///
    /// # Errors
    /// [`Error::ProductChanged`].
    pub fn require_unchanged(&self, seen: Option<Timestamp>) -> Result<(), Error> {
        match seen {
            Some(seen) if self.updated_at != seen => Err(Error::ProductChanged),
            _ => Ok(()),
        }
    }

    /// The product once it is archived: rule 3.
    ///
    /// # Errors
    /// [`Error::AlreadyArchived`].
    pub fn archive(self, now: Timestamp) -> Result<Product, Error> {
        match self.status {
            ProductStatus::Archived => Err(Error::AlreadyArchived),
            ProductStatus::Active => Ok(Product {
                status: ProductStatus::Archived,
                updated_at: self.next_update(now),
                ..self
            }),
        }
    }

    /// Rule 4: now, or a millisecond after the last change if the clock is not past that.
    fn next_update(&self, now: Timestamp) -> Timestamp {
        now.max(Timestamp::from_millis(
            self.updated_at.as_millis().saturating_add(1),
        ))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn product() -> Product {
        let new = NewProduct {
            description: Some("D".into()),
            sku: Some("S".into()),
            tax_rate: Some(decimal("7")),
            product_type: Some("GOODS".into()),
            unit_of_measure: Some("pcs".into()),
            ..NewProduct::new("A", decimal("1"), "EUR")
        };
        new.into_product(ProductId(Uuid::nil()), Timestamp::from_millis(1))
    }

    #[test]
    fn an_update_sets_every_field_that_is_given() {
        let changes = ProductChanges {
            name: Some("B".into()),
            unit_price: Some(decimal("2")),
            currency: Some("CHF".into()),
            description: Field::Value("E".into()),
            sku: Field::Value("T".into()),
            tax_rate: Field::Value(decimal("19")),
            product_type: Some("SERVICES".into()),
            unit_of_measure: Some("hr".into()),
            unchanged_since: None,
        };
        let now = Timestamp::from_millis(2);
        let expected = NewProduct {
            description: Some("E".into()),
            sku: Some("T".into()),
            tax_rate: Some(decimal("19")),
            product_type: Some("SERVICES".into()),
            unit_of_measure: Some("hr".into()),
            ..NewProduct::new("B", decimal("2"), "CHF")
        };
        let expected = Product {
            updated_at: now,
            ..expected.into_product(product().id, product().created_at)
        };
        assert_eq!(product().update(changes, now), expected);
    }

    #[test]
    fn an_update_of_nothing_changes_the_time_alone() {
        let now = Timestamp::from_millis(2);
        let expected = Product {
            updated_at: now,
            ..product()
        };
        assert_eq!(product().update(ProductChanges::default(), now), expected);
    }

    #[test]
    fn an_update_moves_forward_under_a_clock_that_stands_or_goes_back() {
        let before = product();
        for now in [0, 1] {
            let after = product().update(ProductChanges::default(), Timestamp::from_millis(now));
            assert!(after.updated_at > before.updated_at, "{now}");
        }
    }

    #[test]
    fn changes_name_their_fields_as_the_interface_does_also_those_that_are_cleared() {
        let all = ProductChanges {
            name: Some("B".into()),
            unit_price: Some(decimal("2")),
            currency: Some("CHF".into()),
            description: Field::Null,
            sku: Field::Value("T".into()),
            tax_rate: Field::Null,
            product_type: Some("SERVICES".into()),
            unit_of_measure: Some("hr".into()),
            unchanged_since: Some(Timestamp::from_millis(1)),
        };
        let names = [
            "name",
            "unitPrice",
            "currency",
            "description",
            "sku",
            "taxRate",
            "type",
            "unitOfMeasure",
        ];
        assert_eq!(all.fields(), names);
        assert!(ProductChanges::default().fields().is_empty());
    }
}
