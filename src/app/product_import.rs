//! Imports of products ([`crate::domain::product_import`]): planned first, then carried out.
//!
//! 1. A plan reads the products that the lines refer to, [`BATCH`] lines at a time, and decides on each line.
//! 2. Carrying it out is one transaction. It makes the same plan again, from products that it locks. If these differ from
//!    those that the shown plan rests on, nothing is changed: [`Error::CatalogChanged`]. If they have more than
//!    [`MOST_TEXT`] by now, it stops with the same error before it has read all of them.
//! 3. Otherwise it writes new products, then changed ones, [`BATCH`] products at a time.
//! 4. A sku that was free in step 2 and is taken by step 3 violates the unique index, and ends the same way.
//!
//! A plan kept for a user consists of the file, and a digest of what the plan rests on. Its row is deleted in the
//! transaction that carries it out, so of two that try, one finds it gone.
//!
//! One transaction of ten thousand rows: CONTRIBUTING.md says how long others wait for it.

use std::collections::HashMap;

use tokio::task::spawn_blocking;

use super::App;
use super::author::Change;
use super::member::require_role;
use super::membership::lock_team;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person};
use crate::domain::author::{Author, Right};
use crate::domain::catalog::Catalog;
use crate::domain::holder::Holder;
use crate::domain::id::{ProductId, ProductImportId, UserId};
use crate::domain::member::Role;
use crate::domain::product::{NewProduct, Product, ProductChanges, StatusFilter};
use crate::domain::product_csv::Lines;
use crate::domain::product_import::{
    Asked, Counts, ImportPlan, KEPT_FOR, KeptImport, Planned, PlannedLine, Planner, Schemas, Seen,
};
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::generated::catalog::schemas;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, product, product_import};

/// Lines or products per batch: some milliseconds of reading in SQLite, which happens on an async thread.
const BATCH: usize = 500;

/// How much text the products of an import may have ([`ImportPlan::text_bytes`]): all of it is read and written in one
/// transaction, for which all other changes wait on SQLite.
pub(crate) const MOST_TEXT: usize = 16 * 1024 * 1024;

/// What the published document requires of a product that is created or changed. Imports are held to the same, and so is
/// what a person types on a page.
pub(crate) const SCHEMAS: Schemas = Schemas {
    create: &schemas::CreateProduct,
    update: &schemas::UpdateProduct,
};

impl App {
    /// Plans an import of these lines. `seen` has the lines of earlier steps, for a file that takes several.
    ///
    /// # Errors
    /// Any store error.
    pub async fn plan_import(
        &self,
        catalog: Catalog,
        lines: Lines,
        seen: &mut Seen,
    ) -> Result<ImportPlan, Error> {
        let mut planner = Planner::new(SCHEMAS, seen);
        let mut text_bytes = 0;
        for batch in lines.chunks(BATCH) {
            let asked = Asked::by(batch);
            let find =
                async move |sql: Sql<'_>| product_import::find(sql, catalog, &asked, false).await;
            let found = self.store.read(catalog, find).await?;
            text_bytes += found.iter().map(Product::text_bytes).sum::<usize>();
            planner.plan(batch, found);
            // SQLite reads on this thread.
            tokio::task::yield_now().await;
        }
        let (planned, rests_on) = planner.finish();
        Ok(ImportPlan {
            catalog,
            lines,
            planned,
            rests_on,
            text_bytes,
        })
    }

    /// Carries out a plan for the operator, except for the lines that it refuses: all of it or nothing.
    ///
    /// # Errors
    /// [`Error::CatalogChanged`] when the plan does not hold any more, or is about more than 16 MiB of text; any store
    /// error.
    pub async fn carry_out_import(&self, plan: &ImportPlan) -> Result<(), Error> {
        let import = self.import(&Actor::Operator, plan);
        let done = self.store.write(plan.catalog, async move |sql| {
            // The team may be deleted between two imports of one file.
            sql.run(lock_team(import.catalog.team_id)).await?;
            carry_out(sql, &import).await
        });
        done.await.map(drop).map_err(taken_meanwhile)
    }

    /// Keeps a plan for a user to confirm, in place of the one that the user has in this catalog. `csv` is the file that the
    /// plan was made from.
    ///
    /// # Errors
    /// [`Error::NotAMember`], [`Error::RoleInsufficient`]; [`Error::InvalidToken`] when the person is no longer signed in;
    /// any store error.
    pub async fn keep_import_plan(
        &self,
        person: &Person,
        plan: &ImportPlan,
        csv: Vec<u8>,
    ) -> Result<ProductImportId, Error> {
        let catalog = plan.catalog;
        let user_id = person.user_id;
        let change = self.change_by(person, catalog);
        let now = self.now();
        let kept = KeptImport {
            id: self.ids.next(now),
            csv,
            rests_on: plan.rests_on,
            created_at: now,
        };
        self.store
            .write(catalog, async move |sql| {
                let keep = product_import::keep(catalog, user_id, &kept);
                sql.run((change.require_author(), keep)).await?;
                Ok(kept.id)
            })
            .await
    }

    /// The plan kept for a user, to show it: made again from the catalog as it is now.
    ///
    /// # Errors
    /// [`Error::ImportNotKept`], [`Error::NotAMember`], [`Error::RoleInsufficient`]; [`Error::CatalogChanged`] when it would
    /// not be the plan that was kept; any store error.
    pub async fn get_kept_import(
        &self,
        user_id: UserId,
        catalog: Catalog,
        id: ProductImportId,
    ) -> Result<ImportPlan, Error> {
        let (lines, rests_on) = self.find_kept(user_id, catalog, id).await?;
        let plan = self
            .plan_import(catalog, lines, &mut Seen::default())
            .await?;
        match plan.rests_on == rests_on {
            true => Ok(plan),
            false => Err(Error::CatalogChanged),
        }
    }

    /// Carries out a kept plan, once.
    ///
    /// # Errors
    /// As for [`get_kept_import`](App::get_kept_import); [`Error::InvalidToken`] when the person is no longer signed in.
    pub async fn carry_out_kept_import(
        &self,
        person: Person,
        catalog: Catalog,
        id: ProductImportId,
    ) -> Result<Counts, Error> {
        let user_id = person.user_id;
        let (lines, rests_on) = self.find_kept(user_id, catalog, id).await?;
        let change = self.change_by(&person, catalog);
        let mut import = self.import_of(&Actor::Person(person), catalog, lines, rests_on);
        import.event = import.event.to(id.0);
        let done = self.store.write(catalog, async move |sql| {
            let spend = product_import::spend(catalog, id).rule(|spent| match spent {
                0 => Err(Error::ImportNotKept),
                _ => Ok(()),
            });
            sql.run((change.require_author(), spend)).await?;
            carry_out(sql, &import).await
        });
        done.await.map_err(taken_meanwhile)
    }

    /// The `limit` newest products of a catalog whose ids come before `after`, newest first: one part of an export.
    ///
    /// # Errors
    /// Any store error.
    pub async fn export_products(
        &self,
        catalog: Catalog,
        status: StatusFilter,
        after: Option<ProductId>,
        limit: u32,
    ) -> Result<Vec<Product>, Error> {
        let list =
            async move |sql: Sql<'_>| sql.run(product::list(catalog, status, after, limit)).await;
        self.store.read(Holder::Parts, list).await
    }

    async fn find_kept(
        &self,
        user_id: UserId,
        catalog: Catalog,
        id: ProductImportId,
    ) -> Result<(Lines, Digest), Error> {
        let expired = self.now().before(KEPT_FOR);
        let find = async move |sql: Sql<'_>| {
            let kept = product_import::find_kept(catalog, user_id, id, expired)
                .rule(|kept| kept.ok_or(Error::ImportNotKept));
            let role = require_role(catalog.team_id, user_id, Role::may_write);
            sql.run((role, kept)).await
        };
        let (_, kept) = self.store.read(user_id, find).await?;
        // This takes tens of milliseconds for the largest files.
        let lines = spawn_blocking(move || Lines::read(&kept.csv)).await;
        // A file is parsed before it is kept, so this cannot fail.
        let lines = lines.map_err(Error::internal)?.map_err(Error::internal)?;
        Ok((lines, kept.rests_on))
    }

    fn change_by(&self, person: &Person, catalog: Catalog) -> Change {
        let right = Right::Member(person.user_id, person.session_id);
        self.change(Author { catalog, right })
    }

    fn import(&self, by: &Actor, plan: &ImportPlan) -> Import {
        self.import_of(by, plan.catalog, plan.lines.clone(), plan.rests_on)
    }

    fn import_of(&self, by: &Actor, catalog: Catalog, lines: Lines, rests_on: Digest) -> Import {
        let now = self.now();
        // One for each line, whichever of them turn out to be new.
        let ids = lines.iter().map(|_| self.ids.next(now)).collect();
        Import {
            catalog,
            lines,
            rests_on,
            ids,
            now,
            event: self.event(by, Action::ImportProducts).in_catalog(catalog),
        }
    }
}

/// An import to carry out.
struct Import {
    catalog: Catalog,
    lines: Lines,
    rests_on: Digest,
    /// The ids of products that are added, by line.
    ids: Vec<ProductId>,
    now: Timestamp,
    event: AuditEvent,
}

/// Steps 2 and 3.
async fn carry_out(sql: Sql<'_>, import: &Import) -> Result<Counts, ScriptError> {
    let catalog = import.catalog;
    sql.run(product_import::hold(catalog)).await?;
    let mut seen = Seen::default();
    let mut planner = Planner::new(SCHEMAS, &mut seen);
    let mut text_bytes = 0;
    for batch in import.lines.chunks(BATCH) {
        let found = product_import::find(sql, catalog, &Asked::by(batch), true).await?;
        text_bytes += found.iter().map(Product::text_bytes).sum::<usize>();
        if text_bytes > MOST_TEXT {
            return Err(Error::CatalogChanged.into());
        }
        planner.plan(batch, found);
    }
    let (planned, rests_on) = planner.finish();
    if rests_on != import.rests_on {
        return Err(Error::CatalogChanged.into());
    }
    let counts = Counts::of(&planned);
    for (planned, ids) in planned.chunks(BATCH).zip(import.ids.chunks(BATCH)) {
        write(sql, import, planned, ids).await?;
    }
    sql.run(audit::insert(&import.event)).await?;
    Ok(counts)
}

/// Step 3, for some lines.
async fn write(
    sql: Sql<'_>,
    import: &Import,
    lines: &[PlannedLine],
    ids: &[ProductId],
) -> Result<(), ScriptError> {
    let new = lines.iter().zip(ids).filter_map(|(line, id)| {
        let Planned::New(new) = &line.planned else {
            return None;
        };
        Some(NewProduct::clone(new).into_product(*id, import.now))
    });
    let new: Vec<Product> = new.collect();
    product::insert_all(sql, import.catalog, &new).await?;
    let changes: HashMap<_, _> = lines
        .iter()
        .filter_map(|line| match &line.planned {
            Planned::Changed(id, changes) => Some((*id, changes)),
            _ => None,
        })
        .collect();
    let asked = Asked {
        ids: changes.keys().copied().collect(),
        skus: Vec::new(),
    };
    // These rows are locked already.
    let found = product_import::find(sql, import.catalog, &asked, false).await?;
    let changed = found.into_iter().filter_map(|product| {
        let changes = ProductChanges::clone(changes.get(&product.id)?);
        Some(product.update(changes, import.now))
    });
    let changed: Vec<Product> = changed.collect();
    product::update_all(sql, import.catalog, &changed).await
}

/// Step 4.
fn taken_meanwhile(error: Error) -> Error {
    match error {
        Error::DuplicateSku => Error::CatalogChanged,
        other => other,
    }
}
