//! `invoicing completions`: scripts with which a shell completes commands.

use clap_complete::{Shell, generate};

use super::command_error::CommandError;
use super::output;

/// Prints a script for a shell to complete commands and options.
#[derive(Debug, clap::Args)]
#[command(
    after_help = r#"Examples, for your own user; each takes effect in a new shell:
    invoicing completions bash > ~/.local/share/bash-completion/completions/invoicing
    invoicing completions fish > ~/.config/fish/completions/invoicing.fish
    invoicing completions zsh > ~/.zfunc/_invoicing    # a folder of $fpath, before compinit"#
)]
pub(super) struct Completions {
    /// The shell to complete commands in.
    shell: Shell,
}

impl Completions {
    /// Prints the script for `program`, the whole command line.
    pub(super) fn run(self, mut program: clap::Command) -> Result<(), CommandError> {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        generate(self.shell, &mut program, name, &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}
