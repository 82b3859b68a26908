//! `invoicing man`: the manual pages, made from the text of `--help`.
//!
//! They are those of `clap_mangen`, except for the text below a command's options: its examples keep their lines, as they
//! are meant to be copied.

use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap_mangen::roff::{Roff, roman};

use super::command_error::CommandError;
use super::output;

/// Prints the manual page of the program, or writes those of all commands.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
    invoicing man | man -l -
    invoicing man --to ~/.local/share/man/man1    # then: man invoicing-team-create"#)]
pub(super) struct Man {
    /// Folder to write the pages of all commands to; created if it does not exist.
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

impl Man {
    /// Generates the pages of `program`, the whole command line.
    pub(super) fn run(self, program: clap::Command) -> Result<(), CommandError> {
        // `help` adds nothing to the pages.
        let mut program = program.disable_help_subcommand(true);
        program.build();
        match self.to {
            Some(folder) => {
                let failed = |error| unwritable(&folder, &error);
                fs::create_dir_all(&folder).map_err(failed)?;
                write_all(&program, &folder)
            }
            None => output::print(&String::from_utf8_lossy(&page(&program)?.text)),
        }
    }
}

struct Page {
    file_name: String,
    text: Vec<u8>,
}

/// Writes the page of `command` and those of its subcommands.
fn write_all(command: &clap::Command, folder: &Path) -> Result<(), CommandError> {
    let page = page(command)?;
    let path = folder.join(page.file_name);
    fs::write(&path, page.text).map_err(|error| unwritable(&path, &error))?;
    for below in command.get_subcommands() {
        write_all(below, folder)?;
    }
    Ok(())
}

fn page(command: &clap::Command) -> Result<Page, CommandError> {
    let examples = command.get_after_help().map(ToString::to_string);
    // There is no date to give; with an empty text, `roff` would take the next argument for it.
    let man = clap_mangen::Man::new(command.clone().after_help(Resettable::Reset))
        .date("\"\"")
        .source(format!("invoicing {}", super::VERSION))
        .manual("Invoicing");
    let mut text = Vec::new();
    man.render(&mut text)?;
    if let Some(examples) = examples {
        below_the_options(&examples).to_writer(&mut text)?;
    }
    Ok(Page {
        file_name: man.get_filename(),
        text,
    })
}

/// The text below a command's options, line by line.
fn below_the_options(said: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    let head = |line: &&str| matches!(*line, "Example:" | "Examples:");
    for line in said.lines().skip_while(head) {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!("cannot write {}: {error}", path.display()))
}
