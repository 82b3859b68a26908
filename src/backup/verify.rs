//! Verifies a backup as far as possible without the database that it was made from.
//!
//! 1. It is unpacked: each of its bytes is as it was written.
//! 2. The database in it has the version, the tables, the rows and the checksums that the backup states.
//! 3. SQLite finds its pages and indexes in order, and no row refers to a missing one.
//! 4. The store opens it, which brings an older schema up to date, and reads some of it with the code that serves it.

use std::path::Path;

use tokio::runtime::Handle;

use super::error::BackupError;
use super::manifest::{Manifest, id, tally};
use super::unpacked::{Source, Unpacked};
use super::watch::Watch;
use crate::domain::catalog::{Catalog, Mode};
use crate::domain::holder::Holder;
use crate::domain::list::Part;
use crate::domain::product::StatusFilter;
use crate::domain::{Cause, Error};
use crate::sqlite::Snapshot;
use crate::store::{Address, Sql, Store, api_key, open, product, team, user};

/// How many teams, users and keys are read in step 4, and how many products of each catalog.
const SAMPLE: u32 = 20;

/// The result of verifying a backup.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The backup's description of itself.
    pub manifest: Manifest,
    /// How many things were read as a sample.
    pub sampled: usize,
    /// What is wrong with it, a sentence each; empty when it is good.
    pub problems: Vec<String>,
}

/// Verifies a backup. Must be called inside a tokio runtime, on a thread for blocking work.
///
/// # Errors
/// [`BackupError`], when it cannot be read or is not as it was written.
pub fn verify(source: &Source, watch: &Watch) -> Result<Verified, BackupError> {
    let unpacked = Unpacked::new(source, watch)?;
    let snapshot = unpacked.snapshot(&source.path, watch)?;
    let manifest = unpacked.manifest.clone();
    let found = examine(&snapshot, &manifest, watch);
    let mut problems = watch
        .outcome(Ok(found))?
        .unwrap_or_else(|error| vec![error.to_string()]);
    drop(snapshot);
    watch.show("reading a sample", 0, 1);
    let sampled = sample(&unpacked.database()).unwrap_or_else(|error| {
        problems.push(format!("the service cannot read it: {error}"));
        0
    });
    Ok(Verified {
        manifest,
        sampled,
        problems,
    })
}

/// Steps 2 and 3.
fn examine(snapshot: &Snapshot, manifest: &Manifest, watch: &Watch) -> Result<Vec<String>, Cause> {
    let mut problems = Vec::new();
    let version = snapshot.schema_version()?;
    if version != manifest.schema_version {
        let said = manifest.schema_version;
        problems.push(format!(
            "its schema has version {version}, and it says {said}"
        ));
    }
    let tables = tally(snapshot, watch)?;
    if tables != manifest.tables || id(&tables) != manifest.id {
        problems.push("its tables are not those that it says".to_owned());
    }
    watch.show("checking", 0, 1);
    problems.extend(snapshot.problems()?);
    Ok(problems)
}

/// Step 4. Returns how much was read.
fn sample(database: &Path) -> Result<usize, Cause> {
    Handle::current().block_on(async {
        let store = open(&Address::sqlite(database)).await?;
        Ok(read(&store).await?)
    })
}

async fn read(store: &Store) -> Result<usize, Error> {
    let calls = async |sql: Sql<'_>| {
        let users = sql.run(user::list(Part::first(SAMPLE))).await?;
        let keys = sql.run(api_key::list_all(Part::first(SAMPLE))).await?;
        let teams = sql.run(team::list(Part::first(SAMPLE))).await?;
        let mut read = users.len() + keys.len() + teams.len();
        for team in teams {
            for mode in [Mode::Live, Mode::Test] {
                let catalog = Catalog {
                    team_id: team.id,
                    mode,
                };
                let products = product::list(catalog, StatusFilter::All, None, SAMPLE);
                read += sql.run(products).await?.len();
            }
        }
        Ok(read)
    };
    store.read(Holder::Service, calls).await
}
