//! A folder with a separate database, and the binary run in it.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A test's folder; kept if the test fails.
pub struct Place(Option<TempDir>);

/// A command's exit code and output.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub output: String,
    pub errors: String,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-cli-")
            .tempdir()
            .unwrap();
        Self(Some(folder))
    }

    /// One with an empty database.
    pub fn with_database() -> Self {
        let place = Self::new();
        place.write("invoicing.db", "");
        place
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.as_ref().unwrap().path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The binary in this folder, on its default database, without the settings from the environment of
    /// the tests.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_invoicing"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("INVOICING_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.path(""))
            // A demo that a test kills leaves its folder behind: here it is removed with the test's.
            .env("TMPDIR", self.path(""))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Said {
        Said::by(&mut self.command(arguments), "")
    }

    /// Runs a command that is expected to succeed with `--json`, and returns its answer: the only value
    /// on standard output.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let said = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.errors);
        serde_json::from_str(&said.output)
            .unwrap_or_else(|error| panic!("{error}: {}", said.output))
    }

    /// Runs a command that creates something, and returns its id.
    pub fn make(&self, arguments: &[&str]) -> String {
        self.json(arguments)["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }
}

impl Said {
    /// Runs a command to its end, with `input` as its standard input.
    pub fn by(command: &mut Command, input: &str) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        // It may end without reading.
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        let output = process.wait_with_output().unwrap();
        Self {
            code: output.status.code().expect("no signal ended it"),
            output: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts that the command failed in this way, with this message on standard error and no other
    /// output.
    #[track_caller]
    pub fn failed(&self, code: i32, message: &str) {
        assert_eq!(
            (self.code, self.output.as_str()),
            (code, ""),
            "{}",
            self.errors
        );
        assert!(
            self.errors.contains(message),
            "expected {message:?} in {}",
            self.errors
        );
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(folder) = self.0.take()
        {
            eprintln!("the folder of this test: {}", folder.keep().display());
        }
    }
}

/// The names of an object's members, in the order in which they were printed.
pub fn names(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

/// Asserts that a text is a time in the format of the interface.
#[track_caller]
pub fn assert_time(value: &Value) {
    let text = value.as_str().expect("a time");
    assert!(
        text.len() == 24 && text.ends_with('Z') && &text[10..11] == "T",
        "{text}"
    );
}
