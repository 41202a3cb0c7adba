//! `aranha completions`: for the shell, made from the same description as `--help`.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::arguments;
use crate::error::{CommandError, ExitStatus};
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  aranha completions bash > ~/.local/share/bash-completion/completions/aranha
  aranha completions zsh > ~/.zfunc/_aranha
  aranha completions fish > ~/.config/fish/completions/aranha.fish";

/// Print a script that completes aranha's commands and flags in a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let mut script = Vec::new();
    generate(
        arguments.shell,
        &mut arguments::description(),
        "aranha",
        &mut script,
    );
    let mut output = Output::new();
    output.text(&String::from_utf8_lossy(&script))?;
    output.finish()?;
    Ok(ExitStatus::Done)
}
