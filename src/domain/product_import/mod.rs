//! What an import would do with each line of a file (docs/decisions.md, W18, W34 to W38).
//!
//! 1. A line is of the product that its id names, active or archived, or else of the active product that has its sku.
//!    One with neither, or with a sku that no active product has, is a new product.
//! 2. A cell that is not there leaves the field as it is; an empty one clears it. Of a new product both say nothing.
//! 3. What differs from the product is held against the schema of PATCH, and a new product against that of POST: the
//!    limits are written in the published document, and nowhere else.
//! 4. A line is refused, with the reasons, when that check refuses it; when its id is of no product in this catalog;
//!    when it would change an archived product, or a status; when its sku is that of another active product; and when
//!    an earlier line is of the same product or has the same sku.
//! 5. All of it is decided by the file and by the products that its ids and skus lead to. [`ImportPlan::rests_on`] is a
//!    digest of these, with the time of their last change, which moves with every change: where it is the same again,
//!    so is the plan.

mod line;
mod plan;

use super::product::Product;
use super::product_csv::Line;
use super::secret::Digest;
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
    /// Ids and times of last changes, in the order in which they were found.
    rests_on: Vec<u8>,
}

impl<'a> Planner<'a> {
    /// A plan without lines. `seen` knows the lines of the steps before.
    pub fn new(schemas: Schemas, seen: &'a mut Seen) -> Planner<'a> {
        Planner {
            schemas,
            seen,
            planned: Vec::new(),
            rests_on: Vec::new(),
        }
    }

    /// Decides on the next lines, by the products that they [ask](Asked::by) for: always so many lines at a time, and
    /// the products always in the same order.
    pub fn plan(&mut self, lines: &[Line], found: Vec<Product>) {
        for product in &found {
            let changed = product.updated_at.as_millis().to_be_bytes();
            self.rests_on.extend(product.id.as_bytes());
            self.rests_on.extend(changed);
        }
        // Which lines lead to which products is decided by the products of all of them: where these begin and end
        // counts.
        self.rests_on.push(0);
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
        (self.planned, Digest::of(&self.rests_on))
    }
}

#[cfg(test)]
mod tests;
