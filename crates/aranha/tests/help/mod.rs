//! The commands and flags of the binary, read from its `--help` texts.

#![allow(dead_code, reason = "every test file uses a part of this module")]

use std::collections::BTreeSet;
use std::process::Command;

/// A command with its help text.
pub(crate) struct CommandHelp {
    /// The words after `aranha`, such as `["url", "canon"]`; empty for the program itself.
    pub(crate) path: Vec<String>,
    pub(crate) text: String,
    /// Commands below this one.
    pub(crate) subcommands: Vec<String>,
    /// Flags as typed: `--collection`, `-c`.
    pub(crate) flags: BTreeSet<String>,
}

impl CommandHelp {
    /// The words that start the command: `aranha url canon`.
    pub(crate) fn name(&self) -> String {
        [&["aranha".to_owned()], self.path.as_slice()]
            .concat()
            .join(" ")
    }
}

/// The program and all its commands, parents first.
pub(crate) fn commands() -> Vec<CommandHelp> {
    let mut commands = Vec::new();
    let mut pending = vec![Vec::new()];
    while let Some(path) = pending.pop() {
        let help = read(path);
        for name in help.subcommands.iter().rev() {
            pending.push([help.path.as_slice(), std::slice::from_ref(name)].concat());
        }
        commands.push(help);
    }
    commands
}

fn read(path: Vec<String>) -> CommandHelp {
    let output = Command::new(env!("CARGO_BIN_EXE_aranha"))
        .args(&path)
        .arg("--help")
        .env_remove("COLUMNS")
        .output()
        .expect("the binary starts");
    let text = String::from_utf8(output.stdout).expect("help is UTF-8");
    CommandHelp {
        subcommands: subcommands(&text),
        flags: text.lines().flat_map(flags).collect(),
        path,
        text,
    }
}

/// The names in the section `Commands:`. clap's own `help` command is left out.
fn subcommands(text: &str) -> Vec<String> {
    text.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        // Continuation lines of a description are indented further.
        .filter(|line| !line.starts_with("    "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The flags that a line of a help text defines: `  -c, --collection <DIR>  Folder of the collection`.
fn flags(line: &str) -> Vec<String> {
    let defined = line.trim_start();
    if !line.starts_with("  ") || !defined.starts_with('-') {
        return Vec::new();
    }
    let words = defined
        .split_whitespace()
        .take_while(|word| word.starts_with('-'));
    words
        .map(|word| word.trim_end_matches([',', '.']).to_owned())
        .filter(|word| {
            word.trim_start_matches('-')
                .starts_with(char::is_alphabetic)
        })
        .collect()
}
