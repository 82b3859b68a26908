//! Imports of products ([`crate::domain::product_import`]): planned first, then carried out.
//!
//! 1. A plan reads the products that the lines refer to, [`BATCH`] lines at a time, and decides on each line.
//! 2. Before it is carried out, the new products are made, and the changed ones read once more. If these have more than
//!    [`MOST_TEXT`] by now, it stops with [`Error::CatalogChanged`] before it has read all of them.
//! 3. Carrying it out is one transaction. It locks the products that the lines refer to, and reads when they were last
//!    changed. If that is not what the plan rests on, nothing is changed: [`Error::CatalogChanged`]. Until then it has only
//!    read: on SQLite, what has to be undone makes all that shares its transaction be done twice.
//! 4. Otherwise it writes new products, then changed ones, [`BATCH`] products at a time. A sku that was free in step 3 and
//!    is taken by now violates the unique index, and ends the same way.
//! 5. The database counts the new products, so that it finds those that the next import refers to.
//!
//! A plan kept for a user consists of the file, and a digest of what the plan rests on. Its row is deleted in the
//! transaction that carries it out, so of two that try, one finds it gone.
//!
//! One transaction of ten thousand rows: CONTRIBUTING.md says how long others wait for it. So all that can be done before
//! it is.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::App;
use super::author::Change;
use super::member::require_role;
use super::membership::lock_team;
use super::product::IN_A_PIECE;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person};
use crate::domain::author::{Author, Right};
use crate::domain::catalog::Catalog;
use crate::domain::holder::Holder;
use crate::domain::id::{ProductId, ProductImportId, TeamId, UserId};
use crate::domain::member::Role;
use crate::domain::product::{NewProduct, Product, ProductChanges, StatusFilter};
use crate::domain::product_csv::Lines;
use crate::domain::product_import::{
    Asked, ImportPlan, KEPT_FOR, KeptImport, Planned, Planner, RestsOn, Schemas, Seen,
};
use crate::domain::secret::Digest;
use crate::generated::catalog::schemas;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, product, product_import};

/// Lines or products per batch: some milliseconds of reading in SQLite, which happens on an async thread.
const BATCH: usize = 500;

/// Lines or products at a time where these may have to be read from the disk while others wait, and how long that may take.
/// What was read before may not be in memory any more. Then nothing is changed; the next time, more of it is.
const COLD: usize = 25;
const LONGEST: Duration = Duration::from_secs(2);

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
            let found = self.find_products(catalog, Asked::by(batch), false).await?;
            text_bytes += found.iter().map(Product::text_bytes).sum::<usize>();
            planner.plan(batch, found);
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

    /// Carries out a plan for the operator, except for the lines that it refuses: all of it or nothing. It is a step of a large
    /// file. Returns how long it took: others should have as much time before the next.
    ///
    /// # Errors
    /// [`Error::CatalogChanged`] when the plan does not hold any more, or changes products with more than 16 MiB of text;
    /// any store error.
    pub async fn carry_out_import(&self, plan: &ImportPlan) -> Result<Duration, Error> {
        let import = self.prepare(&Actor::Operator, plan).await?;
        let new = import.new.len();
        let done = self.time_step(async move |sql: Sql<'_>| {
            let team_id = import.catalog.team_id;
            // The team may be deleted between two imports of one file.
            sql.run((product_import::hold(team_id), lock_team(team_id)))
                .await?;
            carry_out(sql, &import).await
        });
        let ((), took) = done.await.map_err(taken_meanwhile)?;
        self.count_products(new).await;
        Ok(took)
    }

    /// Waits until what was imported into the catalog of this team before is committed, also at a synchronous standby: for an
    /// answer that rests on nothing else. ([`idempotency::rely_on`](crate::store::idempotency::rely_on) says why.)
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown team; any store error.
    pub async fn rely_on_imports(&self, team_id: TeamId) -> Result<(), Error> {
        let wait = async move |sql: Sql<'_>| sql.run(lock_team(team_id)).await.map(drop);
        self.store.write(Holder::Service, wait).await
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
        if plan.rests_on == rests_on {
            return Ok(plan);
        }
        // What changed the catalog may be this very plan, confirmed twice.
        let kept = self.find_kept(user_id, catalog, id).await;
        kept.and(Err(Error::CatalogChanged))
    }

    /// Carries out a kept plan, once. `begun` is set once its transaction begins, for which all other changes wait on SQLite.
    ///
    /// # Errors
    /// As for [`get_kept_import`](App::get_kept_import); [`Error::InvalidToken`] when the person is no longer signed in.
    pub async fn carry_out_kept_import(
        &self,
        person: Person,
        catalog: Catalog,
        id: ProductImportId,
        begun: Arc<OnceLock<Instant>>,
    ) -> Result<(), Error> {
        let plan = self.get_kept_import(person.user_id, catalog, id).await?;
        let change = self.change_by(&person, catalog);
        let mut import = self.prepare(&Actor::Person(person), &plan).await?;
        drop(plan);
        import.event = import.event.to(id.0);
        import.kept = Some(id);
        if self.waits_for_disk(catalog.into()) {
            (import.at_a_time, import.most) = (COLD, LONGEST);
        }
        let new = import.new.len();
        let holder = Holder::Import(catalog.team_id.0);
        let done = self.store.write(holder, async move |sql| {
            begun.get_or_init(Instant::now);
            // Before the person is held: of two imports of a team, none keeps what ends the person's session waiting for both.
            sql.run(product_import::hold(catalog.team_id)).await?;
            sql.run(change.require_author()).await?;
            carry_out(sql, &import).await
        });
        done.await.map_err(taken_meanwhile)?;
        self.count_products(new).await;
        Ok(())
    }

    /// Step 5.
    async fn count_products(&self, new: usize) {
        let count = async move |sql: Sql<'_>| product_import::count(sql, new).await;
        // Without it, the next import is only slower.
        _ = self.store.read(Holder::Service, count).await;
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

    /// Step 2.
    async fn prepare(&self, by: &Actor, plan: &ImportPlan) -> Result<Import, Error> {
        let (catalog, now) = (plan.catalog, self.now());
        let mut import = Import {
            catalog,
            asked: plan.lines.chunks(BATCH).map(Asked::by).collect(),
            rests_on: plan.rests_on,
            new: Vec::new(),
            changed: Vec::new(),
            kept: None,
            at_a_time: BATCH,
            most: Duration::MAX,
            event: self.event(by, Action::ImportProducts).in_catalog(catalog),
        };
        let mut text_bytes = 0;
        for batch in plan.planned.chunks(BATCH) {
            let mut changes = HashMap::new();
            for line in batch {
                match &line.planned {
                    Planned::New(new) => {
                        let new = NewProduct::clone(new);
                        import.new.push(new.into_product(self.ids.next(now), now));
                    }
                    Planned::Changed(id, change) => drop(changes.insert(*id, change)),
                    Planned::Unchanged(_) | Planned::Refused(_) => {}
                }
            }
            if changes.is_empty() {
                continue;
            }
            let asked = Asked {
                ids: changes.keys().copied().collect(),
                skus: Vec::new(),
            };
            let found = self.find_products(catalog, asked, true).await?;
            text_bytes += found.iter().map(Product::text_bytes).sum::<usize>();
            if text_bytes > MOST_TEXT {
                return Err(Error::CatalogChanged);
            }
            import.changed.extend(found.into_iter().filter_map(|it| {
                let changes = ProductChanges::clone(changes.get(&it.id)?);
                Some(it.update(changes, now))
            }));
        }
        Ok(import)
    }

    /// Finds products of a batch of lines, perhaps since they are about to change. Where they are not in memory, a few at a
    /// time: others wait for the same turns.
    async fn find_products(
        &self,
        catalog: Catalog,
        asked: Asked,
        to_change: bool,
    ) -> Result<Vec<Product>, Error> {
        if !self.waits_for_disk(catalog.into()) {
            return self.find_at_once(catalog, asked, to_change).await;
        }
        let mut found = Vec::new();
        for piece in asked.pieces(IN_A_PIECE) {
            found.extend(self.find_at_once(catalog, piece, to_change).await?);
        }
        Ok(found)
    }

    async fn find_at_once(
        &self,
        catalog: Catalog,
        asked: Asked,
        to_change: bool,
    ) -> Result<Vec<Product>, Error> {
        let find = async move |sql: Sql<'_>| {
            let found = product_import::find(sql, catalog, &asked).await?;
            let to_change = found.iter().filter(|_| to_change);
            for product in to_change {
                sql.run(product::warm_up(catalog, product)).await?;
            }
            Ok(found)
        };
        let found = self.store.read(catalog, find).await?;
        // SQLite reads on this thread.
        tokio::task::yield_now().await;
        Ok(found)
    }
}

/// An import to carry out.
struct Import {
    catalog: Catalog,
    /// What the lines ask for, by batch.
    asked: Vec<Asked>,
    rests_on: Digest,
    new: Vec<Product>,
    /// As they are afterwards.
    changed: Vec<Product>,
    /// The kept plan that this spends.
    kept: Option<ProductImportId>,
    /// How many lines or products are written at a time, and for how long others may have to wait for all of them.
    at_a_time: usize,
    most: Duration,
    event: AuditEvent,
}

/// Steps 3 and 4, once the imports of the team are held.
async fn carry_out(sql: Sql<'_>, import: &Import) -> Result<(), ScriptError> {
    let catalog = import.catalog;
    let is_kept = |id| product_import::is_kept(catalog, id).rule(require_kept);
    sql.run(import.kept.map(is_kept)).await?;
    let begun = Instant::now();
    let in_time = || match begun.elapsed() < import.most {
        true => Ok(()),
        false => Err(Error::unavailable("the import kept others waiting")),
    };
    let mut rests_on = RestsOn::default();
    for asked in &import.asked {
        let mut found = Vec::new();
        if import.at_a_time == BATCH {
            found = product_import::lock_last_changes(sql, catalog, asked).await?;
        } else {
            for piece in asked.pieces(import.at_a_time) {
                in_time()?;
                found.extend(product_import::lock_last_changes(sql, catalog, &piece).await?);
            }
        }
        rests_on.add(found);
    }
    if rests_on.digest() != import.rests_on {
        return Err(Error::CatalogChanged.into());
    }
    let spend = |id| {
        let spend = product_import::spend(catalog, id).rule(|spent| Ok(spent > 0));
        spend.rule(require_kept)
    };
    sql.run(import.kept.map(spend)).await?;
    for new in import.new.chunks(import.at_a_time) {
        in_time()?;
        product::insert_all(sql, catalog, new).await?;
    }
    for changed in import.changed.chunks(import.at_a_time) {
        in_time()?;
        product::update_all(sql, catalog, changed).await?;
    }
    sql.run(audit::insert(&import.event)).await.map(drop)
}

fn require_kept(is_kept: bool) -> Result<(), Error> {
    match is_kept {
        true => Ok(()),
        false => Err(Error::ImportNotKept),
    }
}

/// Step 4.
fn taken_meanwhile(error: Error) -> Error {
    match error {
        Error::DuplicateSku => Error::CatalogChanged,
        other => other,
    }
}
