//! Settings that are reloaded while the server runs: `log_level` and `log_format`, on SIGHUP.
//!
//! 1. They are read from the same sources as when the server started: the command line, the variables, the file. Of these,
//!    only the file can have changed.
//! 2. If anything in it is wrong, the log reports it, and nothing changes.
//! 3. Otherwise they apply to the log from now on.
//! 4. Other changes need a restart: one line names them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::Command;
use slog::{Logger, error, info, warn};

use crate::log::Controls;
use crate::settings::Settings;
use crate::settings::sources::{self, Resolved, Texts};

/// The settings that take effect at once.
const AT_ONCE: [&str; 2] = ["log_level", "log_format"];

/// What the process was started with.
pub(super) struct Started {
    /// Makes the command line of the program.
    command: fn(&Texts) -> Command,
    /// What was typed.
    arguments: Vec<OsString>,
    /// The environment variables.
    variables: BTreeMap<OsString, OsString>,
    /// The settings that they, and the file, gave.
    pub(super) resolved: Resolved,
}

impl Started {
    /// Reads the settings.
    ///
    /// # Errors
    /// As for [`sources::resolve`].
    pub(super) fn new(
        command: fn(&Texts) -> Command,
        arguments: Vec<OsString>,
        variables: BTreeMap<OsString, OsString>,
    ) -> Result<Self, sources::Error> {
        let resolved = sources::resolve(command, &arguments, &variables)?;
        Ok(Self {
            command,
            arguments,
            variables,
            resolved,
        })
    }

    /// Steps 1 to 4.
    pub(super) fn reload(&self, controls: &Controls, log: &Logger) {
        // Step 1.
        let found = sources::resolve(self.command, &self.arguments, &self.variables);
        let settings = found.and_then(|found| {
            let settings = Settings::from_matches(&found.settings)?;
            Ok((found, settings))
        });
        let (found, settings) = match settings {
            Ok(found) => found,
            // Step 2.
            Err(why) => {
                error!(log, "the settings stay as they are"; "error" => %why);
                return;
            }
        };
        // Step 3.
        if let Err(why) = controls.set(settings.log_level, settings.log_format) {
            error!(log, "the settings stay as they are"; "error" => %why);
            return;
        }
        info!(
            log, "settings read again";
            "log_level" => settings.log_level.name(), "log_format" => settings.log_format.name()
        );
        // Step 4.
        let mut others = found.differing(&self.resolved);
        others.retain(|name| !AT_ONCE.contains(name));
        if !others.is_empty() {
            warn!(log, "settings that have changed need a restart"; "settings" => others.join(", "));
        }
    }
}
