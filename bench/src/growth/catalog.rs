//! A catalogue of a given size, shared by some teams.
//!
//! The first team has half of all products, so that there are long lists to walk through; the others share the other
//! half evenly, some 500 each. Up to 10,000 products there is one team; beyond, one for each 1,000 products.
//!
//! The service creates the tables, the teams and their keys. It would take most of an hour to create ten million
//! products, one request each, so they are written directly into its table, in the order of its keys ([`fill`]).

use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use invoicing::app::App;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::Actor;
use invoicing::domain::catalog::Mode;
use invoicing::domain::time::SystemClock;
use invoicing::store;
use serde::Deserialize;
use uuid::Uuid;

use crate::dataset::{self, BoxError, PUBLIC_URL, patiently};
use crate::operation::request;
use crate::postgres::Cluster;
use crate::wire;

use super::fill;

/// Up to this many products, there is only one team.
const OF_ONE_TEAM: u64 = 10_000;

/// Beyond that, one team for this many products.
const A_TEAM: u64 = 1_000;

/// Teams to create at once.
const IN_FLIGHT: usize = 1024;

/// Products on a measured page, and on the longest possible one.
pub const PAGE: u64 = 20;
const LONGEST_PAGE: u64 = 100;

/// A team, with the key for its requests.
#[derive(Debug)]
pub struct Team {
    /// Its id.
    pub id: Uuid,
    key: String,
    /// The numbers of its products.
    pub products: Range<u64>,
}

/// A catalogue.
#[derive(Debug)]
pub struct Catalog {
    /// The total number of products.
    pub products: u64,
    /// The address of the database, as given to the service.
    pub url: String,
    /// The PostgreSQL that holds it, unless it is in SQLite.
    pub cluster: Option<Rc<Cluster>>,
    /// The size of the database before anything is created, in bytes.
    pub size: u64,
    /// The log of the service.
    pub log: PathBuf,
    teams: Vec<Team>,
    /// The cursor of the last page of the first team.
    deepest: String,
}

impl Catalog {
    /// Makes it in a PostgreSQL, or else in a separate file in a folder.
    ///
    /// # Errors
    /// Any error of the store, including a full disk.
    pub async fn make(
        folder: &Path,
        products: u64,
        cluster: Option<Cluster>,
    ) -> Result<Self, BoxError> {
        let file = folder.join(format!("{products}.db"));
        let url = match &cluster {
            Some(cluster) => cluster.url(),
            None => format!("sqlite:{}", file.display()),
        };
        let teams = make_teams(&url, products).await?;
        let size = match &cluster {
            Some(_) => fill::postgres(&url, &teams).await?,
            None => fill::sqlite(&file, &teams)?,
        };
        Ok(Self {
            products,
            url,
            cluster: cluster.map(Rc::new),
            size,
            log: file.with_extension("log"),
            teams,
            deepest: String::new(),
        })
    }

    /// How many teams share it.
    pub fn teams(&self) -> usize {
        self.teams.len()
    }

    /// The key of the team with half of all products.
    pub fn largest(&self) -> &str {
        &self.teams[0].key
    }

    /// A random product, by its number, and the key that sees it.
    pub fn any(&self, random: &mut fastrand::Rng) -> (u64, &str) {
        let number = random.u64(0..self.products);
        let team = self
            .teams
            .partition_point(|team| team.products.end <= number);
        (number, &self.teams[team].key)
    }

    /// The cursor of the last page of 20 of the team with half of all products.
    pub fn deepest(&self) -> &str {
        &self.deepest
    }

    /// Walks through all pages of the first team to the last: the only way, since only the service can make cursors.
    ///
    /// # Errors
    /// When the walk does not show every product of the team exactly once, newest first.
    pub async fn find_deepest_page(&mut self, address: SocketAddr) -> Result<(), BoxError> {
        let mut connection = wire::Connection::open(address).await?;
        let (mut left, mut cursor) = (self.teams[0].products.end, String::new());
        let mut out = Vec::new();
        while left > 0 {
            let limit = match left.saturating_sub(PAGE) {
                0 => {
                    self.deepest.clone_from(&cursor);
                    PAGE
                }
                // Leaves a full last page.
                before_last => before_last.min(LONGEST_PAGE),
            };
            out.clear();
            ask_page(&mut out, self.largest(), limit, &cursor);
            let answer = connection.ask(&out).await?;
            let page: PageResponse<'_> = serde_json::from_slice(answer.body)?;
            for product in page.data.data {
                left = left.saturating_sub(1);
                if product.id != dataset::id(left) {
                    return Err(format!("the walk shows {} instead of {left}", product.id).into());
                }
            }
            match page.data.next_cursor {
                Some(next) => cursor = next.to_owned(),
                None if left == 0 => break,
                None => return Err(format!("the walk ends with {left} products left").into()),
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct PageResponse<'a> {
    #[serde(borrow)]
    data: Page<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    data: Vec<Identified>,
    #[serde(borrow)]
    next_cursor: Option<&'a str>,
}

#[derive(Deserialize)]
struct Identified {
    id: Uuid,
}

/// Writes a request for a page, the first one with an empty cursor.
pub fn ask_page(out: &mut Vec<u8>, key: &str, limit: u64, cursor: &str) {
    let after = match cursor {
        "" => String::new(),
        cursor => format!("&after={cursor}"),
    };
    let headers = format!("Authorization: Bearer {key}\r\n");
    let path = format_args!("/api/v1/products?limit={limit}{after}");
    request(out, "GET", path, &headers, "");
}

/// Has the service create its tables, teams and keys.
async fn make_teams(url: &str, products: u64) -> Result<Vec<Team>, BoxError> {
    let count = match products {
        ..=OF_ONE_TEAM => 1,
        more => more / A_TEAM,
    };
    let store = store::open(&url.parse()?).await?;
    let app = App::new(store, Arc::new(SystemClock), PUBLIC_URL).await?;
    let made = stream::iter(0..count).map(async |number| -> Result<_, BoxError> {
        let name = format!("Team {number}");
        let id = patiently(|| app.create_team(&name)).await?.id;
        let create_key = || {
            app.create_api_key(
                &Actor::Operator,
                id,
                Mode::Live,
                Scope::ReadWrite,
                None,
                None,
            )
        };
        let key = patiently(create_key).await?;
        Ok((id.0, key.1.reveal().to_owned()))
    });
    let mut made: Vec<_> = made.buffered(IN_FLIGHT).try_collect().await?;
    // Products are inserted by team, in the order of the table.
    made.sort_unstable();
    let teams = made.into_iter().zip(shares(products, count));
    let team = |((id, key), products)| Team { id, key, products };
    Ok(teams.map(team).collect())
}

/// The numbers of the products of each team, in the order of the teams.
fn shares(products: u64, teams: u64) -> impl Iterator<Item = Range<u64>> {
    let first = match teams {
        1 => products,
        _ => products / 2,
    };
    let start = move |team: u64| match team {
        0 => 0,
        team => first + (products - first) * (team - 1) / (teams - 1).max(1),
    };
    (0..teams).map(move |team| {
        let end = match team + 1 {
            next if next == teams => products,
            next => start(next),
        };
        start(team)..end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_team_has_half_and_the_others_share_the_rest() {
        let shares: Vec<_> = shares(20_000, 20).collect();
        assert_eq!(shares[0], 0..10_000);
        assert_eq!(shares[1], 10_000..10_526);
        assert_eq!(shares[19].end, 20_000);
        assert!(shares.windows(2).all(|two| two[0].end == two[1].start));
    }

    #[test]
    fn one_team_has_everything() {
        let shares: Vec<_> = shares(500, 1).collect();
        assert_eq!((shares.len(), shares[0].clone()), (1, 0..500));
    }
}
