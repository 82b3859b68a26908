//! An overview of a database, for the operator who starts a server on it.

use super::App;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::list::Part;
use crate::store::{Closing, Sql, api_key, team, user};

/// An overview of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overview {
    /// Whether there is a team.
    pub has_team: bool,
    /// Whether there is a valid key.
    pub has_api_key: bool,
    /// Whether there is a user.
    pub has_user: bool,
    /// Whether passwords are switched on, so that the first owner can be created in a browser.
    pub passwords: bool,
}

impl Overview {
    /// The next steps, as commands, until there is someone who can call the service and sign in; `None` if there is.
    pub fn next_steps(&self) -> Option<String> {
        let browser = match self.passwords {
            true => "set it up in a browser: `invoicing setup-link` prints where; or ",
            false => "",
        };
        match (self.has_team, self.has_api_key, self.has_user) {
            (false, ..) => Some(format!(
                "{browser}make a team: `invoicing team create --name NAME`; then a key for the catalog API: \
                 `invoicing api-key create --team NAME --mode live --scope read-write`"
            )),
            (true, false, false) => Some(format!(
                "{browser}make a key for the catalog API: `invoicing api-key create --team TEAM --mode live --scope read-write`; \
                 or a user for the mobile API: `invoicing user create --email EMAIL --name NAME`"
            )),
            (true, true, false) if self.passwords => Some(
                "nobody can sign in to the pages: `invoicing setup-link` prints where the first owner is made".to_owned(),
            ),
            (true, true, false) => Some(
                "nobody can sign in to the pages: make a user, `invoicing user create --email EMAIL --name NAME`, and a member of \
                 the team, `invoicing member add --team TEAM --user EMAIL --role owner`"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl App {
    /// An overview of the database.
    ///
    /// # Errors
    /// Any store error.
    pub async fn overview(&self) -> Result<Overview, Error> {
        let now = self.now();
        let calls = async move |sql: Sql<'_>| {
            let teams = team::list(Part::one());
            let users = user::list(Part::one());
            sql.run((teams, api_key::exists_valid(now), users)).await
        };
        let (teams, has_api_key, users) = self.store.read(Holder::Service, calls).await?;
        Ok(Overview {
            has_team: !teams.is_empty(),
            has_api_key,
            has_user: !users.is_empty(),
            passwords: self.switched_on().password,
        })
    }

    /// Tells when the store is closed.
    pub fn closing(&self) -> Closing {
        self.store.closing()
    }

    /// The version that the database's schema had when it was opened; 0 for a new database. Since then it is
    /// [`SCHEMA_VERSION`](crate::store::SCHEMA_VERSION).
    pub fn found_schema_version(&self) -> i64 {
        self.store.found_version()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_next_is_told_until_somebody_can_call_and_sign_in() {
        for (there_is, passwords, begins) in [
            (
                [false, false, false],
                true,
                Some("set it up in a browser: "),
            ),
            ([false, true, true], false, Some("make a team: ")),
            ([true, false, false], true, Some("set it up in a browser: ")),
            (
                [true, false, false],
                false,
                Some("make a key for the catalog API: "),
            ),
            (
                [true, true, false],
                true,
                Some("nobody can sign in to the pages: `invoicing setup-link`"),
            ),
            (
                [true, true, false],
                false,
                Some("nobody can sign in to the pages: make a user, "),
            ),
            ([true, false, true], true, None),
            ([true, true, true], false, None),
        ] {
            let [has_team, has_api_key, has_user] = there_is;
            let overview = Overview {
                has_team,
                has_api_key,
                has_user,
                passwords,
            };
            let told = overview.next_steps();
            let told = told.as_deref();
            match begins {
                Some(begins) => assert!(told.is_some_and(|it| it.starts_with(begins)), "{told:?}"),
                None => assert_eq!(told, None),
            }
        }
    }
}
