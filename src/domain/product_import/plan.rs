//! Import plans, and what goes into them.

use std::collections::HashMap;
use std::time::Duration;

use crate::domain::catalog::Catalog;
use crate::domain::id::{ProductId, ProductImportId};
use crate::domain::product::{NewProduct, Product, ProductChanges, ProductStatus};
use crate::domain::product_csv::{Column, Line, Lines, Reason};
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;

/// What to do with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planned {
    /// A product is added.
    New(Box<NewProduct>),
    /// A product is changed.
    Changed(ProductId, Box<ProductChanges>),
    /// The product already is as the line says.
    Unchanged(ProductId),
    /// Nothing is done, for these reasons.
    Refused(Vec<Reason>),
}

impl Planned {
    /// Whether it adds a product without a sku: importing the line a second time would add it again.
    pub fn is_without_sku(&self) -> bool {
        matches!(self, Planned::New(new) if new.sku.is_none())
    }
}

/// A line, and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLine {
    /// Its number in the file.
    pub number: u64,
    /// What to do with it.
    pub planned: Planned,
}

/// How many lines of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented at Planned")]
pub struct Counts {
    pub new: u64,
    pub changed: u64,
    pub unchanged: u64,
    pub refused: u64,
}

impl Counts {
    /// Counts these lines.
    pub fn of(planned: &[PlannedLine]) -> Counts {
        let mut counts = Counts::default();
        for line in planned {
            *match line.planned {
                Planned::New(_) => &mut counts.new,
                Planned::Changed(..) => &mut counts.changed,
                Planned::Unchanged(_) => &mut counts.unchanged,
                Planned::Refused(_) => &mut counts.refused,
            } += 1;
        }
        counts
    }
}

impl std::ops::Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            new: self.new + other.new,
            changed: self.changed + other.changed,
            unchanged: self.unchanged + other.unchanged,
            refused: self.refused + other.refused,
        }
    }
}

/// What an import would do, given the catalog at the time when the plan was made.
#[derive(Clone, Debug)]
pub struct ImportPlan {
    /// The catalog to import into.
    pub catalog: Catalog,
    /// The lines that it was made from.
    pub lines: Lines,
    /// What to do with each, in the same order.
    pub planned: Vec<PlannedLine>,
    /// A digest of the products that decided this.
    pub rests_on: Digest,
    /// How much text these products have, in bytes.
    pub text_bytes: usize,
}

impl ImportPlan {
    /// How many lines of each kind there are.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.planned)
    }
}

/// How long a plan is kept for a user to confirm.
pub const KEPT_FOR: Duration = Duration::from_hours(1);

/// How many such plans are kept for a team, for all its users: each has up to 5 MiB, and an owner may invite any number
/// of users.
pub const KEPT_FOR_TEAM: u32 = 20;

/// A plan that a user is to confirm: what it was made from, so that it can be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptImport {
    /// Identifies it.
    pub id: ProductImportId,
    /// The file.
    pub csv: Vec<u8>,
    /// A digest of the products that decided it.
    pub rests_on: Digest,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What lines need from the catalog.
#[derive(Debug, Default)]
pub struct Asked {
    /// The products with these ids.
    pub ids: Vec<ProductId>,
    /// The active products with these skus.
    pub skus: Vec<String>,
}

impl Asked {
    /// What these lines need.
    pub fn by(lines: &[Line]) -> Asked {
        let mut asked = Asked::default();
        for cells in lines.iter().filter_map(|line| line.cells.as_ref().ok()) {
            let id = cells.given(Column::Id).map(str::parse::<ProductId>);
            asked.ids.extend(id.and_then(Result::ok));
            // No product has a NUL in its sku, and PostgreSQL refuses a query with one.
            let sku = cells.given(Column::Sku).filter(|sku| !sku.contains('\0'));
            asked.skus.extend(sku.map(str::to_owned));
        }
        asked
    }

    /// The same in pieces of at most `size` products, in the same order.
    pub fn pieces(&self, size: usize) -> impl Iterator<Item = Asked> {
        let ids = self.ids.chunks(size).map(|ids| Asked {
            ids: ids.to_vec(),
            skus: Vec::new(),
        });
        let skus = self.skus.chunks(size).map(|skus| Asked {
            ids: Vec::new(),
            skus: skus.to_vec(),
        });
        ids.chain(skus)
    }
}

/// The products that lines lead to.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) products: HashMap<ProductId, Product>,
    /// The active ones among them.
    pub(super) by_sku: HashMap<String, ProductId>,
}

impl Found {
    pub(super) fn new(products: Vec<Product>) -> Found {
        let mut found = Found::default();
        for product in products {
            if let Some(sku) = &product.sku
                && product.status == ProductStatus::Active
            {
                found.by_sku.insert(sku.clone(), product.id);
            }
            found.products.insert(product.id, product);
        }
        found
    }
}

/// Which line of a file was for which product and sku, so that a later duplicate is refused: about fifty bytes a line.
#[derive(Debug, Default)]
pub struct Seen {
    products: HashMap<ProductId, u64>,
    /// By the first half of their digests.
    skus: HashMap<[u8; 16], u64>,
}

impl Seen {
    /// Notes the product and the sku of a line, unless an earlier line has one of them.
    ///
    /// # Errors
    /// Why the line is refused: the earlier line.
    pub(super) fn note(
        &mut self,
        number: u64,
        product: Option<ProductId>,
        sku: Option<&str>,
    ) -> Result<(), Reason> {
        let sku = sku.map(|sku| {
            let mut half = [0; 16];
            half.copy_from_slice(&Digest::of(sku.as_bytes()).as_bytes()[..16]);
            half
        });
        if let Some(other) = product.and_then(|id| self.products.get(&id)) {
            let text = format!("is of the same product as line {other}");
            return Err(Reason::of_line(text));
        }
        if let Some(other) = sku.and_then(|sku| self.skus.get(&sku)) {
            let text = format!("is the same as in line {other}");
            return Err(Reason::of_cell(Column::Sku, text));
        }
        self.products.extend(product.map(|id| (id, number)));
        self.skus.extend(sku.map(|sku| (sku, number)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_kind_by_kind() {
        let of = |new, changed, unchanged, refused| Counts {
            new,
            changed,
            unchanged,
            refused,
        };
        assert_eq!(of(2, 3, 4, 5) + of(7, 8, 9, 10), of(9, 11, 13, 15));
    }

    #[test]
    fn pieces_ask_for_the_same_in_the_same_order() {
        let id = |number| ProductId::from(uuid::Uuid::from_u128(number));
        let asked = Asked {
            ids: (0..5).map(id).collect(),
            skus: ["a", "b", "c"].map(str::to_owned).to_vec(),
        };
        let pieces: Vec<_> = asked.pieces(2).collect();
        let sizes: Vec<_> = pieces
            .iter()
            .map(|it| (it.ids.len(), it.skus.len()))
            .collect();
        assert_eq!(sizes, [(2, 0), (2, 0), (1, 0), (0, 2), (0, 1)]);
        let (ids, skus): (Vec<_>, Vec<_>) = pieces.into_iter().map(|it| (it.ids, it.skus)).unzip();
        assert_eq!((ids.concat(), skus.concat()), (asked.ids, asked.skus));
    }

    #[test]
    fn only_a_product_that_is_added_without_a_sku_would_be_added_again() {
        let new = |sku: Option<&str>| {
            let new = NewProduct::new("A", "1".parse().unwrap(), "EUR");
            let sku = sku.map(str::to_owned);
            Planned::New(Box::new(NewProduct { sku, ..new }))
        };
        assert!(new(None).is_without_sku());
        assert!(!new(Some("S")).is_without_sku());
        assert!(!Planned::Refused(Vec::new()).is_without_sku());
    }
}
