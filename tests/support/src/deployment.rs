//! Runs the contract tests against a server that is already deployed.
//!
//! Without any of these variables, every test starts a server of its own. With [`BASE_URL`], the tests call that server
//! instead, and a test that needs something the variables do not provide is skipped: it prints its name and the reason
//! to standard error.
//!
//! | Variable | What the tests do with it |
//! |---|---|
//! | `INVOICING_BASE_URL` | call this server: `https://invoicing.example` |
//! | `INVOICING_DATABASE` | make teams, keys, users and items with the command line on this database; none of the following is needed then |
//! | `INVOICING_LIVE_KEY` | a *Read & Write* key, mode Live |
//! | `INVOICING_LIVE_READ_ONLY_KEY` | a `READ_ONLY` key of the same team, mode Live |
//! | `INVOICING_TEST_KEY` | a *Read & Write* key of the same team, mode Test |
//! | `INVOICING_OTHER_TEAM_KEY` | a *Read & Write* key of another team, mode Live |
//! | `INVOICING_TEAM_ID` | the id of a team with a file |
//! | `INVOICING_FILE_ID` | the id of a file of this team |
//! | `INVOICING_ACCESS_TOKEN` | an access token of a member of this team |
//! | `INVOICING_OTHER_TEAM_ID` | the id of a team that this person is no member of |
//! | `INVOICING_PROXY_HEADERS` | names of headers, separated by commas, that proxies before the server add to its answers |
//!
//! The tests leave products behind, with names that begin with `contract test`. Use a separate team for them.
//!
//! How much is tried, here and with the tests' own servers:
//!
//! | Variable | | Unless set |
//! |---|---|---|
//! | `INVOICING_PROPERTY_CASES` | random bodies for each operation (`tests/contract`) | 200 |
//! | `INVOICING_MODEL_PLANS`, `INVOICING_MODEL_STEPS` | random plans, and operations in each (`tests/model`) | 24, 60 |
//! | `INVOICING_MODEL_SEED` | the seed that a failure printed, to repeat it | random |
//! | `INVOICING_CRASH_ROUNDS` | how often the server is killed (`tests/kill`) | 8 |
//! | `INVOICING_FAULT_ROUNDS`, `INVOICING_FAULT_SEED` | how often each fault happens, and a seed that was printed (`tests/faults`) | 1, random |
//! | `INVOICING_TEST_DATABASE` | `sqlite` or `postgres`: what servers of the tests' own keep their data in | `sqlite` |

use std::path::Path;

use crate::postgres;

/// The server to call.
pub const BASE_URL: &str = "INVOICING_BASE_URL";
/// The database of that server, if it can be reached from here.
pub const DATABASE: &str = "INVOICING_DATABASE";

/// The address of a new database for a server that a test starts, in this folder.
pub(crate) fn own_database(folder: &Path) -> String {
    let engine = std::env::var("INVOICING_TEST_DATABASE");
    match engine.as_deref().unwrap_or("sqlite") {
        "sqlite" => format!("sqlite:{}", folder.join("invoicing.db").display()),
        "postgres" => postgres::shared().database(),
        other => panic!("INVOICING_TEST_DATABASE is {other:?}; write sqlite or postgres"),
    }
}

/// Why a test cannot run against this deployment.
#[derive(Debug)]
pub struct Skip(pub String);

impl Skip {
    /// Prints the reason for the person who runs the tests. The harness would capture the output of `eprintln!`.
    ///
    /// # Panics
    ///
    /// When no deployment is given: with servers of their own, tests have everything they need, and one that skipped
    /// itself would never fail again.
    pub fn print(&self) {
        assert!(
            is_given(),
            "no deployment is given, and this is missing: {}",
            self.0
        );
        say(&self.0);
    }
}

/// Prints to standard error that this thread's test, or a part of it, is skipped, and why.
pub fn say(reason: &str) {
    use std::io::Write as _;
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {reason}");
}

/// The value, or `None` if this deployment does not provide it: for a test of many parts that can do without some of
/// them.
pub fn available<T>(value: Result<T, Skip>) -> Option<T> {
    value.map_err(|skip| skip.print()).ok()
}

/// The value; ends the test that asked for it if this deployment does not provide it.
#[macro_export]
macro_rules! given {
    ($value:expr) => {
        match $value {
            Ok(value) => value,
            Err(skip) => {
                let skip: $crate::deployment::Skip = skip;
                skip.print();
                return;
            }
        }
    };
}

/// A variable of the table above.
pub(crate) fn variable(name: &str) -> Result<String, Skip> {
    std::env::var(name).map_err(|_| Skip(format!("needs {name}, or {DATABASE}")))
}

/// Whether the tests run against a deployment.
pub fn is_given() -> bool {
    std::env::var_os(BASE_URL).is_some()
}
