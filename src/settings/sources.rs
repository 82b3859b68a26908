//! The sources of settings, in order of precedence: command line, variables, file, defaults.
//!
//! Variables are passed in instead of read here, so that a test can choose them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use toml::de::{DeTable, DeValue};

use super::Settings;

/// The texts that variables and the file give, by the name of the setting.
pub type Texts = BTreeMap<String, OsString>;

/// Names with this prefix are our variables.
const PREFIX: &str = "INVOICING_";

/// Names the file.
const CONFIG: &str = "INVOICING_CONFIG";

/// Read by programs that call the service, such as the examples on our pages: not settings, and not worth a warning in a
/// terminal where both are used.
const OF_CALLERS: [&str; 2] = ["INVOICING_API_KEY", "INVOICING_BASE_URL"];

/// Where the file is; the one thing that the file itself cannot say.
#[derive(clap::Args)]
struct File {
    /// TOML file with settings, such as `listen = "0.0.0.0:8080"`.
    ///
    /// Its keys are the settings' names with underscores. The command line and variables take precedence over it, and
    /// unknown keys are refused.
    #[arg(long, env = CONFIG, value_name = "FILE", help_heading = super::heading::DATABASE)]
    config: Option<PathBuf>,
}

/// A command line with every setting found.
#[derive(Debug)]
pub struct Resolved {
    /// What the command takes, completed from variables, file and defaults.
    pub matches: ArgMatches,
    /// All settings, including those that the command does not take.
    pub settings: ArgMatches,
    /// Problems that do not stop the command, but that the user should know about.
    pub warnings: Vec<String>,
    /// The file, and the settings that are in it, even if overridden.
    pub file: Option<(PathBuf, Vec<String>)>,
}

impl Resolved {
    /// The names of the settings that have changed, in the order of the struct.
    pub fn differing(&self, before: &Resolved) -> Vec<&'static str> {
        let names = arguments().iter().map(|arg| arg.get_id().as_str());
        let text = |of: &Resolved, name: &str| -> Option<OsString> {
            of.settings.get_raw(name)?.next_back().map(OsString::from)
        };
        names
            .filter(|name| text(self, name) != text(before, name))
            .collect()
    }
}

/// Why there are no settings to run with.
#[derive(Debug)]
pub enum Error {
    /// The command line is wrong, or asks for help.
    Usage(clap::Error),
    /// Variables or the file are wrong: every problem, one per line.
    Wrong(Vec<String>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) => error.fmt(f),
            Self::Wrong(problems) => f.write_str(&problems.join("\n")),
        }
    }
}

impl std::error::Error for Error {}

impl From<clap::Error> for Error {
    fn from(error: clap::Error) -> Self {
        Self::Usage(without_passwords(error))
    }
}

/// The same error without passwords: clap repeats the text that it does not understand.
fn without_passwords(mut error: clap::Error) -> clap::Error {
    let is_secret = error
        .get(ContextKind::InvalidArg)
        .is_some_and(|it| it.to_string().contains("secret"));
    let telling: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(_) if is_secret && kind == ContextKind::InvalidValue => {
                Some((kind, "...".to_owned()))
            }
            ContextValue::String(text) => Some((kind, redacted(text)?)),
            _ => None,
        })
        .collect();
    for (kind, text) in telling {
        error.insert(kind, ContextValue::String(text));
        // The suggestion may repeat the text.
        error.remove(ContextKind::Suggested);
    }
    error
}

/// What may be shown of a text that may hold a password: its start. `None` if all of it may be shown.
fn redacted(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':').unwrap_or(("", ""));
    let may = rest.starts_with("//")
        || rest.contains('@')
        || text.contains("password")
        || text.contains("SECRET");
    let plain = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    may.then(|| match plain {
        true => format!("{scheme}:..."),
        false => "...".to_owned(),
    })
}

/// The settings as arguments, in the order of the struct. Built once, since every command takes some.
pub(super) fn arguments() -> &'static [Arg] {
    static ARGUMENTS: LazyLock<Vec<Arg>> = LazyLock::new(|| {
        Settings::augment_args(Command::new("settings"))
            .get_arguments()
            // A negative number gets the error about the range, instead of being taken for an option.
            .map(|arg| arg.clone().allow_negative_numbers(true))
            .collect()
    });
    &ARGUMENTS
}

/// Adds to `command` the settings for whose names `takes` returns true, with `texts` in place of their defaults.
pub fn complete(command: Command, texts: &Texts, takes: impl Fn(&str) -> bool) -> Command {
    // Not with `augment_args`, which would also replace the command's own description.
    let file = File::augment_args(Command::new("file"));
    let all = file.get_arguments().chain(arguments());
    let with_text = |arg: &Arg| match texts.get(arg.get_id().as_str()) {
        Some(text) => arg.clone().default_value(text.clone()),
        None => arg.clone(),
    };
    command.args(
        all.filter(|arg| takes(arg.get_id().as_str()))
            .map(with_text),
    )
}

/// Parses a command line and completes it (the numbered steps of [`super`]).
///
/// `command` builds the whole command, with the texts in place of the defaults; `leaf` finds the matches of the command that
/// was called.
///
/// # Errors
/// [`Error::Usage`] for the command line, [`Error::Wrong`] for variables and the file.
pub fn resolve(
    command: impl Fn(&Texts) -> Command,
    arguments: &[OsString],
    variables: &BTreeMap<OsString, OsString>,
) -> Result<Resolved, Error> {
    // Step 1. If clap read the variables itself, it could not name the wrong one.
    let bare = |texts: &Texts| without_variables(command(texts));
    let matches = match bare(&Texts::new()).try_get_matches_from(arguments) {
        // Help does list the variables.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            command(&Texts::new()).try_get_matches_from(arguments)?
        }
        parsed => parsed?,
    };

    // Step 2.
    // Not every command takes it.
    let chosen = leaf(&matches).try_get_one::<PathBuf>("config");
    let chosen = chosen.ok().flatten().cloned();
    let file = chosen.or_else(|| variables.get(OsStr::new(CONFIG)).map(PathBuf::from));

    // Step 3.
    let (mut texts, mut problems) = match &file {
        Some(path) => from_file(path)?,
        None => Default::default(),
    };
    let file = file.map(|path| (path, texts.keys().cloned().collect()));
    let found = from_variables(variables);
    texts.extend(found.texts);
    problems.extend(found.problems);
    if !problems.is_empty() {
        return Err(Error::Wrong(problems));
    }

    // Step 4.
    let matches = match texts.is_empty() {
        true => matches,
        false => bare(&texts).try_get_matches_from(arguments)?,
    };
    let settings = all_settings(leaf(&matches), &texts)?;
    Ok(Resolved {
        matches,
        settings,
        warnings: found.warnings,
        file,
    })
}

/// Every setting: from the command line if given there, and otherwise from `texts` and the defaults.
fn all_settings(given: &ArgMatches, texts: &Texts) -> Result<ArgMatches, clap::Error> {
    let mut line = Vec::new();
    for arg in arguments() {
        let id = arg.get_id().as_str();
        let taken = given.try_contains_id(id).is_ok()
            && given.value_source(id) == Some(ValueSource::CommandLine);
        let Some(mut values) = taken.then(|| given.get_raw(id)).flatten() else {
            continue;
        };
        let mut option = OsString::from(format!("--{}=", arg.get_long().unwrap_or_default()));
        option.push(values.next_back().unwrap_or_default());
        line.push(option);
    }
    let command = complete(Command::new("settings"), texts, |_| true).no_binary_name(true);
    without_variables(command).try_get_matches_from(line)
}

/// The matches of the command that was called, below all groups of commands.
pub fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches
        .subcommand()
        .map_or(matches, |(_, matches)| leaf(matches))
}

/// The same command, ignoring all variables.
pub(super) fn without_variables(command: Command) -> Command {
    command
        .mut_args(|arg| arg.env(Resettable::Reset))
        .mut_subcommands(without_variables)
}

#[derive(Default)]
struct Found {
    texts: Texts,
    problems: Vec<String>,
    warnings: Vec<String>,
}

fn from_variables(variables: &BTreeMap<OsString, OsString>) -> Found {
    let mut found = Found::default();
    let arguments = arguments();
    let known: Vec<(&str, &Arg)> = arguments
        .iter()
        .filter_map(|arg| Some((arg.get_env()?.to_str()?, arg)))
        .collect();
    for (name, text) in variables {
        let name = name.to_string_lossy();
        if !name.starts_with(PREFIX) || name == CONFIG || OF_CALLERS.contains(&&*name) {
            continue;
        }
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, arg)) => match check(arg, text) {
                Ok(()) => drop(found.texts.insert(arg.get_id().to_string(), text.clone())),
                Err(problem) => found.problems.push(format!("{name}: {problem}")),
            },
            None => {
                let similar = similar(&name, known.iter().map(|(known, _)| *known));
                found
                    .warnings
                    .push(format!("{name} is no setting and is ignored{similar}"));
            }
        }
    }
    found
}

/// The texts of a file, and every problem with them.
fn from_file(path: &Path) -> Result<(Texts, Vec<String>), Error> {
    let shown = path.display();
    let content = std::fs::read_to_string(path).map_err(|error| {
        Error::Wrong(vec![format!(
            "{shown}: cannot be read: {error}; name another file with --config or {CONFIG}"
        )])
    })?;
    let line = |at: usize| content[..at].matches('\n').count() + 1;
    let table = DeTable::parse(&content).map_err(|error| {
        let line = error.span().map_or(1, |span| line(span.start));
        Error::Wrong(vec![format!(
            "{shown}:{line}: is not TOML: {}",
            error.message()
        )])
    })?;

    let arguments = arguments();
    let (mut texts, mut problems) = (Texts::new(), Vec::new());
    for (key, value) in table.into_inner() {
        let line = line(key.span().start);
        let name: &str = key.get_ref();
        let Some(arg) = arguments.iter().find(|arg| arg.get_id() == name) else {
            let similar = similar(name, arguments.iter().map(|arg| arg.get_id().as_str()));
            let help = match similar.is_empty() {
                true => "; `invoicing serve --help` lists the settings",
                false => &similar,
            };
            problems.push(format!("{shown}:{line}: `{name}` is no setting{help}"));
            continue;
        };
        let text = text_of(value.get_ref()).and_then(|text| {
            let text = OsString::from(text);
            check(arg, &text).map(|()| text)
        });
        match text {
            Ok(text) => drop(texts.insert(name.to_owned(), text)),
            Err(problem) => problems.push(format!("{shown}:{line}: {name}: {problem}")),
        }
    }
    Ok((texts, problems))
}

/// A value of the file as it would be written on the command line.
fn text_of(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Boolean(on) => Ok(if *on { "on" } else { "off" }.to_owned()),
        DeValue::Array(values) => {
            let texts: Result<Vec<_>, _> = values.iter().map(|v| text_of(v.get_ref())).collect();
            texts.map(|texts| texts.join(","))
        }
        _ => Err("write a text in quotes, a whole number, true, false or a list of texts".into()),
    }
}

/// Checks that the command line would accept `text` as the value of `arg`; the error is the reason why not.
fn check(arg: &Arg, text: &OsStr) -> Result<(), String> {
    let arg = arg
        .clone()
        .env(Resettable::Reset)
        .required(false)
        .long("value");
    let mut given = OsString::from("--value=");
    given.push(text);
    let Err(error) = Command::new("check")
        .no_binary_name(true)
        .arg(arg)
        .try_get_matches_from([given])
    else {
        return Ok(());
    };
    if let Some(source) = std::error::Error::source(&error) {
        return Err(source.to_string());
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            Err(format!("write one of {}", values.join(", ")))
        }
        _ if text.is_empty() => Err("has no value; write one, or leave it out".into()),
        _ => Err("is not readable as text in UTF-8".into()),
    }
}

/// A suggestion for a misspelt name, or an empty text.
fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let name = name.replace('-', "_");
    let best = known
        .map(|known| (strsim::damerau_levenshtein(&name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 2.max(known.len() / 4));
    best.map_or_else(String::new, |(_, known)| {
        format!("; did you mean `{known}`?")
    })
}

impl Default for Settings {
    /// The defaults alone, as if nothing were set anywhere.
    fn default() -> Self {
        let command = complete(Command::new("defaults"), &Texts::new(), |_| true);
        let command = without_variables(command);
        let matches = command
            .no_binary_name(true)
            .get_matches_from(std::iter::empty::<&str>());
        // Cannot fail: a test reads them all.
        Self::from_matches(&matches).expect("the defaults are valid")
    }
}

#[cfg(test)]
#[path = "sources/tests.rs"]
mod tests;
