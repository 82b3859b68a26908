//! What an import would do with each line of a file (docs/decisions.md, W18, W34 to W38).
//!
//! 1. A line is for the product that its id names, active or archived, or, without an id, for the active product that
//!    has its sku. A line with neither, or with a sku that no active product has, is a new product.
//! 2. A missing cell leaves the field as it is; an empty one clears it. For a new product, both leave the field out.
//! 3. What differs from the product is checked against the schema of PATCH, and a new product against that of POST: the
//!    limits are written in the published document, and nowhere else.
//! 4. A line is refused, with the reasons, if that check refuses it; if no product in this catalog has its id; if it
//!    would change an archived product, or a status; if another active product has its sku; and if an earlier line is
//!    for the same product or has the same sku.
//! 5. The file, and the products that its ids and skus lead to, decide all of this. [`ImportPlan::rests_on`] is a
//!    digest of these products with the times of their last changes, which move with every change: if it is the same
//!    again, so is the plan.

mod line;
mod plan;

use super::id::ProductId;
use super::product::Product;
use super::product_csv::Line;
use super::secret::Digest;
use super::time::Timestamp;
use plan::Found;

pub use line::{Schemas, new_product, product_changes};
pub use plan::{
    Asked, Counts, ImportPlan, KEPT_FOR, KEPT_FOR_TEAM, KeptImport, Planned, PlannedLine, Seen,
};

/// Makes a plan, some lines at a time.
pub struct Planner<'a> {
    schemas: Schemas,
    seen: &'a mut Seen,
    planned: Vec<PlannedLine>,
    rests_on: RestsOn,
}

impl<'a> Planner<'a> {
    /// Starts a plan without lines. `seen` knows the lines of the steps before.
    pub fn new(schemas: Schemas, seen: &'a mut Seen) -> Planner<'a> {
        Planner {
            schemas,
            seen,
            planned: Vec::new(),
            rests_on: RestsOn::default(),
        }
    }

    /// Decides on the next lines, given the products that they [ask](Asked::by) for. Plans compare equal only if made
    /// with the same number of lines at a time, and the products in the same order.
    pub fn plan(&mut self, lines: &[Line], found: Vec<Product>) {
        let last_changes = found.iter().map(|it| (it.id, it.updated_at));
        self.rests_on.add(last_changes);
        let found = Found::new(found);
        for line in lines {
            let decided = line::decide(line, &found, &self.schemas, self.seen);
            self.planned.push(PlannedLine {
                number: line.number,
                planned: decided.unwrap_or_else(Planned::Refused),
            });
        }
    }

    /// The plan for the lines so far, and what it rests on.
    pub fn finish(self) -> (Vec<PlannedLine>, Digest) {
        (self.planned, self.rests_on.digest())
    }
}

/// What a plan rests on: rule 5.
#[derive(Debug, Default)]
pub struct RestsOn(Vec<u8>);

impl RestsOn {
    /// Adds the products found for the next lines, with the times of their last changes, in the order in which they were
    /// found.
    pub fn add(&mut self, found: impl IntoIterator<Item = (ProductId, Timestamp)>) {
        for (id, updated_at) in found {
            self.0.extend(id.as_bytes());
            self.0.extend(updated_at.as_millis().to_be_bytes());
        }
        // The products found for all lines of a call decide which line leads to which of them, so it counts where each
        // call's products end.
        self.0.push(0);
    }

    /// Its digest.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

#[cfg(test)]
mod tests;
