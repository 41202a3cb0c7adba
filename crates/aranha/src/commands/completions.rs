//! `aranha completions`: shell completion scripts, generated from the flag definitions.

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

/// Print a shell completion script
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Shell to generate the script for
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let mut script = Vec::new();
    generate(
        arguments.shell,
        &mut arguments::definition(),
        "aranha",
        &mut script,
    );
    let mut output = Output::new();
    output.text(&String::from_utf8_lossy(&script))?;
    output.finish()?;
    Ok(ExitStatus::Done)
}
