//! Who can use the service, according to the database.

use std::sync::Arc;

use super::Subject;
use super::finding::Finding;
use crate::app::App;
use crate::cli::database::open;
use crate::domain::Error;
use crate::store::{SCHEMA_VERSION, inspect};

const PEOPLE: &str = "people";
const PASSKEYS: &str = "passkeys";

/// Whether anyone can use the service, and whether their passkeys are valid here.
pub(super) async fn people(subject: Arc<Subject>) -> Vec<Finding> {
    // Opening a database would migrate it, so an older one is left alone.
    let inspected = inspect::open(&subject.settings.database).await;
    let version = match inspected {
        Ok(inspected) => inspected.version(),
        Err(_) => {
            return vec![Finding::good(
                PEOPLE,
                "not looked at, as the database is not there",
            )];
        }
    };
    if version != SCHEMA_VERSION {
        return vec![Finding::good(
            PEOPLE,
            "not looked at, as the schema is another",
        )];
    }
    // The schema is current, so no backup is made.
    let found = match open(&subject.settings, |_| ()).await {
        Ok(app) => look(&app).await.map_err(|error| error.causes()),
        Err(_) => Err("the database cannot be opened".to_owned()),
    };
    found.unwrap_or_else(|why| vec![Finding::bad(PEOPLE, why, "see `database`")])
}

async fn look(app: &App) -> Result<Vec<Finding>, Error> {
    let people = match app.overview().await?.next_steps() {
        Some(to_do) => Finding::warn(PEOPLE, "something is missing for anybody to begin", to_do),
        None => Finding::good(PEOPLE, "there is a team, and somebody or something to call"),
    };
    let passkeys = match app.count_passkeys_elsewhere().await? {
        0 => Finding::good(PASSKEYS, "all of them are of this origin's host"),
        count => {
            let found =
                format!("{count} were made at another host, and do not count at this origin");
            let to_do = "see that their users have another way to sign in, or take the origin back";
            Finding::warn(PASSKEYS, found, to_do)
        }
    };
    Ok(vec![people, passkeys])
}
