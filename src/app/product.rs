//! The product operations of the catalog ([`crate::domain::product`]).

use openapi_dropshot_runtime::Field;

use super::App;
use super::author::Change;
use super::idempotency::Once;
use crate::domain::Error;
use crate::domain::author::{Author, Caller, Right};
use crate::domain::catalog::Catalog;
use crate::domain::id::ProductId;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::product::{
    NewProduct, Page, Product, ProductChanges, ProductStatus, StatusFilter,
};
use crate::domain::subject::Subject;
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, product};

/// How many products are read at a time that are not in memory.
pub(super) const IN_A_PIECE: usize = 10;

impl App {
    /// Adds a product to the caller's catalog.
    ///
    /// # Errors
    /// As for [`Caller::author`]; [`Error::InvalidToken`] when the key or the browser session has ended since it was looked
    /// up, [`Error::DuplicateSku`], [`Error::IdempotencyKeyReused`]; any store error.
    pub async fn create_product(
        &self,
        caller: &impl Caller,
        product: NewProduct,
        request: Option<IdempotentRequest>,
    ) -> Result<Outcome<Product>, Error> {
        let change = self.change(caller.author()?);
        let catalog = change.author.catalog;
        let product = product.into_product(self.ids.next(change.now), change.now);
        let key = idempotency_key(catalog, request.as_ref());
        let subjects = key.into_iter().chain(sku(catalog, product.sku.as_deref()));
        let subjects = subjects.collect();
        self.change_product(change.author, subjects, async move |sql| {
            create_product(sql, &change, &product, request.as_ref()).await
        })
        .await
    }

    /// The product with this id in the caller's catalog, active or archived.
    ///
    /// # Errors
    /// [`Error::ProductNotFound`]; any store error.
    pub async fn get_product(&self, caller: &impl Caller, id: ProductId) -> Result<Product, Error> {
        let catalog = caller.catalog();
        let find = product::find(catalog, id);
        let found = self.store.look_up(catalog, find).await?;
        found.ok_or(Error::ProductNotFound)
    }

    /// A page of the caller's catalog, newest first: at most `limit` products, starting after the cursor `after`.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`]; any store error.
    pub async fn list_products(
        &self,
        caller: &impl Caller,
        status: StatusFilter,
        limit: u32,
        after: Option<&str>,
    ) -> Result<Page<Product>, Error> {
        let catalog = caller.catalog();
        let after = after
            .map(|text| self.cursors.read(catalog, status, text))
            .transpose()?;
        // One more than the page holds tells whether there is a next page.
        let found = limit.saturating_add(1);
        let mut items = match self.waits_for_disk(catalog.into()) {
            true => self.list_in_pieces(catalog, status, after, found).await?,
            false => {
                let list = product::list(catalog, status, after, found);
                let list = self.store.look_up_list(catalog, list, found as usize);
                list.await?
            }
        };
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        let last = items.last().filter(|_| more);
        let next = last.map(|last| self.cursors.write(catalog, status, last.id));
        Ok(Page { items, next })
    }

    /// The `limit` newest products whose ids come before `after`, read a few at a time: each may be on another page of the
    /// disk, and others wait for the same turns.
    async fn list_in_pieces(
        &self,
        catalog: Catalog,
        status: StatusFilter,
        mut after: Option<ProductId>,
        limit: u32,
    ) -> Result<Vec<Product>, Error> {
        let mut items = Vec::new();
        while items.len() < limit as usize {
            let piece = IN_A_PIECE.min(limit as usize - items.len());
            let list = product::list(catalog, status, after, piece as u32);
            let found = self.store.look_up_list(catalog, list, piece).await?;
            let was_last = found.len() < piece;
            items.extend(found);
            if was_last {
                break;
            }
            after = items.last().map(|last| last.id);
        }
        Ok(items)
    }

    /// Changes a product of the caller's catalog, active or archived.
    ///
    /// # Errors
    /// As for [`create_product`](App::create_product); [`Error::ProductNotFound`], [`Error::ProductChanged`],
    /// [`Error::DuplicateSku`], [`Error::IdempotencyKeyReused`]; any store error.
    pub async fn update_product(
        &self,
        caller: &impl Caller,
        id: ProductId,
        changes: ProductChanges,
        request: Option<IdempotentRequest>,
    ) -> Result<Outcome<Product>, Error> {
        let change = self.change(caller.author()?);
        let catalog = change.author.catalog;
        let key = idempotency_key(catalog, request.as_ref());
        let sku = match &changes.sku {
            Field::Value(text) => sku(catalog, Some(text)),
            _ => None,
        };
        let subjects: Vec<_> = key
            .into_iter()
            .chain(sku)
            .chain([Subject::product(catalog, id)])
            .collect();
        self.change_product(change.author, subjects, async move |sql| {
            update_product(sql, &change, id, &changes, request.as_ref()).await
        })
        .await
    }

    /// Archives a product of the caller's catalog, unless it was changed after `unchanged_since`, if given.
    ///
    /// # Errors
    /// As for [`create_product`](App::create_product); [`Error::ProductNotFound`], [`Error::AlreadyArchived`],
    /// [`Error::ProductChanged`]; any store error.
    pub async fn archive_product(
        &self,
        caller: &impl Caller,
        id: ProductId,
        unchanged_since: Option<Timestamp>,
    ) -> Result<(), Error> {
        let change = self.change(caller.author()?);
        let catalog = change.author.catalog;
        let subjects = vec![Subject::product(catalog, id)];
        self.change_product(change.author, subjects, async move |sql| {
            archive_product(sql, &change, id, unchanged_since).await
        })
        .await
    }

    /// Waits until the last change of a product is committed, also at a synchronous standby: for an answer that rests on nothing
    /// else. ([`idempotency::rely_on`](crate::store::idempotency::rely_on) says why.)
    ///
    /// # Errors
    /// As for [`archive_product`](App::archive_product).
    pub async fn rely_on_product(&self, caller: &impl Caller, id: ProductId) -> Result<(), Error> {
        let change = self.change(caller.author()?);
        let catalog = change.author.catalog;
        let subjects = vec![Subject::product(catalog, id)];
        self.change_product(change.author, subjects, async move |sql| {
            let lock = product::lock(catalog, id);
            sql.run((change.require_author(), lock)).await.map(drop)
        })
        .await
    }

    /// Makes a change, together with others if it is made with a key. A person's change waits for whatever else the person
    /// changes, and a group would wait with it. A person makes one at a time, as their team waits with it, too.
    async fn change_product<T: Send + 'static>(
        &self,
        author: Author,
        subjects: Vec<Subject>,
        script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let catalog = author.catalog;
        match author.right {
            Right::Key(_) => self.store.write_in_group(catalog, subjects, script).await,
            Right::Member(user_id, _) => {
                let turn = self.product_changes_of_user.turn(user_id).await;
                let _turn =
                    turn.ok_or_else(|| Error::unavailable("many of the user's changes wait"))?;
                self.store.write(catalog, script).await
            }
        }
    }
}

/// The subject of a change that gives a product a sku: the sku.
fn sku(catalog: Catalog, sku: Option<&str>) -> Option<Subject> {
    sku.map(|sku| Subject::sku(catalog, sku))
}

/// The subject of a request with an idempotency key: the key.
fn idempotency_key(catalog: Catalog, request: Option<&IdempotentRequest>) -> Option<Subject> {
    request.map(|request| Subject::idempotency_key(catalog, &request.key))
}

async fn create_product(
    sql: Sql<'_>,
    change: &Change,
    product: &Product,
    request: Option<&IdempotentRequest>,
) -> Result<Outcome<Product>, ScriptError> {
    let catalog = change.author.catalog;
    let mut once = Once::new(change, request);
    // On PostgreSQL, the record is written first: a refusal after that has others undone.
    let sku = match sql {
        Sql::Sqlite(_) => None,
        Sql::Postgres(_) => product.sku.as_deref(),
    };
    let has_sku = sku.map(|sku| product::has_sku(catalog, sku));
    let (is_taken, replayed) = once.replayed(sql, has_sku).await?;
    if let Some(replayed) = replayed {
        return Ok(replayed);
    }
    if is_taken.flatten() == Some(true) {
        return Err(Error::DuplicateSku.into());
    }
    let insert = product::insert(catalog, product);
    once.make(sql, product.clone(), insert).await
}

async fn update_product(
    sql: Sql<'_>,
    change: &Change,
    id: ProductId,
    changes: &ProductChanges,
    request: Option<&IdempotentRequest>,
) -> Result<Outcome<Product>, ScriptError> {
    let catalog = change.author.catalog;
    let mut once = Once::new(change, request);
    // Locked first: of two requests with one key, the second finds what the first has changed and recorded.
    let lock = product::lock(catalog, id);
    let (found, replayed) = once.begin(sql, lock).await?;
    if let Some(replayed) = replayed {
        return Ok(replayed);
    }
    let found = found.ok_or(Error::ProductNotFound)?;
    found.require_unchanged(changes.unchanged_since)?;
    let product = found.clone().update(changes.clone(), change.now);
    let keeps_sku = product.sku == found.sku;
    if !keeps_sku {
        require_free_sku(sql, catalog, &product).await?;
        sql.run(product::warm_up(catalog, &found)).await?;
    }
    let update = product::update(catalog, &product, keeps_sku);
    once.make(sql, product.clone(), update).await
}

/// Refuses the sku that an active product is to get, if another has it.
async fn require_free_sku(
    sql: Sql<'_>,
    catalog: Catalog,
    product: &Product,
) -> Result<(), ScriptError> {
    match &product.sku {
        Some(sku)
            if product.status == ProductStatus::Active
                && sql.run(product::has_sku(catalog, sku)).await? =>
        {
            Err(Error::DuplicateSku.into())
        }
        _ => Ok(()),
    }
}

async fn archive_product(
    sql: Sql<'_>,
    change: &Change,
    id: ProductId,
    unchanged_since: Option<Timestamp>,
) -> Result<(), ScriptError> {
    let catalog = change.author.catalog;
    let lock = product::lock(catalog, id).rule(|found| found.ok_or(Error::ProductNotFound));
    let (_, found) = sql.run((change.require_author(), lock)).await?;
    match (found.status, change.author.right) {
        (ProductStatus::Active, _) => found.require_unchanged(unchanged_since)?,
        // On a page, twice is as good as once. That may still wait for a synchronous standby, as this does with the lock.
        (ProductStatus::Archived, Right::Member(..)) => return Ok(()),
        (ProductStatus::Archived, Right::Key(_)) => {}
    }
    sql.run(product::warm_up(catalog, &found)).await?;
    let archived = found.archive(change.now)?;
    sql.run(product::archive(catalog, &archived)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::api_key::Scope;
    use crate::domain::audit::Actor;
    use crate::domain::catalog::Mode;
    use crate::domain::time::SystemClock;
    use crate::sqlite::Sqlite;
    use crate::store::Store;

    #[tokio::test]
    async fn a_list_in_pieces_is_the_same_as_at_once() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::from(Sqlite::open(folder.path().join("test.db")).unwrap());
        let app = App::new(Arc::new(store), Arc::new(SystemClock), "https://a.example");
        let app = app.await.unwrap();
        let team = app.create_team("Acme").await.unwrap().id;
        let (mode, scope) = (Mode::Live, Scope::ReadWrite);
        let key = app.create_api_key(&Actor::Operator, team, mode, scope, None, None);
        let (key, _) = key.await.unwrap();
        for number in 0..2 * IN_A_PIECE + 5 {
            let new = NewProduct::new("A", "1".parse().unwrap(), "EUR");
            let made = app.create_product(&key, new, None).await.unwrap().value;
            if number % 3 == 0 {
                app.archive_product(&key, made.id, None).await.unwrap();
            }
        }
        for status in [
            StatusFilter::Active,
            StatusFilter::Archived,
            StatusFilter::All,
        ] {
            let all = app
                .list_products(&key, status, 100, None)
                .await
                .unwrap()
                .items;
            for (skip, limit) in [
                (0, 100),
                (0, IN_A_PIECE),
                (3, IN_A_PIECE + 1),
                (all.len() - 1, 9),
            ] {
                let after = skip.checked_sub(1).map(|at| all[at].id);
                let pieces = app.list_in_pieces(key.catalog(), status, after, limit as u32);
                let expected: Vec<_> = all.iter().skip(skip).take(limit).cloned().collect();
                assert_eq!(pieces.await.unwrap(), expected);
            }
        }
    }
}
