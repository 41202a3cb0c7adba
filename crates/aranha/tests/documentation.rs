//! Tests that README.md, docs/commands.md, docs/cookbook.md and the examples in help texts name only commands and flags
//! that the binary has, and that docs/commands.md describes all of them.

mod help;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use help::CommandHelp;

/// A heading in docs/commands.md. The flags below it are shared by several commands, whose sections do not repeat them.
const COMMON_FLAGS: &str = "Common flags";

/// A heading of a document and the text below it, up to the next heading.
struct Section {
    heading: String,
    lines: Vec<String>,
}

fn read(name: &str) -> Vec<Section> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    let text = std::fs::read_to_string(path).expect("the document exists");
    let mut sections = vec![Section {
        heading: String::new(),
        lines: Vec::new(),
    }];
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            sections.push(Section {
                heading: heading.trim_matches(['#', ' ']).to_owned(),
                lines: Vec::new(),
            });
        } else if let Some(section) = sections.last_mut() {
            section.lines.push(line.to_owned());
        }
    }
    sections
}

impl Section {
    /// Code spans, and lines of code blocks.
    fn code(&self) -> Vec<&str> {
        self.lines.iter().flat_map(|line| code(line)).collect()
    }

    /// The names of the commands in the heading: `aranha crawl`.
    fn commands(&self) -> Vec<&str> {
        let mut names = code(&self.heading);
        names.retain(|name| name.starts_with("aranha"));
        names
    }
}

/// The code spans of a line; the whole line if it is indented as a code block.
fn code(line: &str) -> Vec<&str> {
    if line.starts_with("    ") {
        return vec![line.trim()];
    }
    line.split('`').skip(1).step_by(2).collect()
}

/// Problems with the commands and flags in a piece of code.
fn problems(code: &str, commands: &[CommandHelp]) -> Vec<String> {
    let parts = code.split(['|', ';']).flat_map(|part| part.split("&&"));
    let lines = parts.filter_map(|part| {
        let part = part.trim().trim_start_matches("$ ");
        part.strip_prefix("aranha ")
    });
    // In a line with an example, two spaces precede the explanation, which is cut off here.
    let lines = lines.map(|line| line.split("  ").next().unwrap_or_default());
    lines
        .flat_map(|line| line_problems(line, commands))
        .collect()
}

fn line_problems(line: &str, commands: &[CommandHelp]) -> Vec<String> {
    let mut words = line.split_whitespace().peekable();
    let mut command = &commands[0];
    while let Some(word) = words.peek() {
        let below = commands.iter().find(|other| {
            other.path.len() == command.path.len() + 1
                && other.path.starts_with(&command.path)
                && other.path.last().is_some_and(|name| name == word)
        });
        match below {
            Some(below) => command = below,
            None => break,
        }
        words.next();
    }
    let mut problems = Vec::new();
    // Words with capitals or dots are placeholders: `aranha COMMAND --help`, `aranha seed …`.
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    if let Some(word) = words.peek().filter(|word| is_name(word))
        && !command.subcommands.is_empty()
    {
        problems.push(format!("{} has no command `{word}`", command.name()));
    }
    for word in words {
        let flag = word.split('=').next().unwrap_or_default();
        let flag = flag.trim_matches(|c: char| "[]',.:…".contains(c));
        if flag.starts_with('-') && flag.len() > 1 && !command.flags.contains(flag) {
            problems.push(format!("{} has no flag `{flag}`", command.name()));
        }
    }
    problems
}

#[track_caller]
fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn documents_name_commands_and_flags_that_exist() {
    let commands = help::commands();
    let all: BTreeSet<_> = commands.iter().flat_map(|command| &command.flags).collect();
    let mut found = Vec::new();
    for name in ["README.md", "docs/commands.md", "docs/cookbook.md"] {
        for section in read(name) {
            for code in section.code() {
                let mut problems = problems(code, &commands);
                let flag = code.split([' ', '=']).next().unwrap_or_default();
                let is_long = flag
                    .strip_prefix("--")
                    .is_some_and(|rest| !rest.starts_with('-'));
                let is_short = flag.starts_with('-') && flag.len() == 2;
                if (is_long || is_short) && !all.contains(&flag.to_owned()) {
                    problems.push(format!("no command has a flag `{flag}`"));
                }
                let place = format!("{name}, {}", section.heading);
                found.extend(problems.iter().map(|problem| format!("{place}: {problem}")));
            }
        }
    }
    assert_none(&found);
}

#[test]
fn examples_in_help_texts_use_commands_and_flags_that_exist() {
    let commands = help::commands();
    let mut found = Vec::new();
    for command in &commands {
        for line in command
            .text
            .lines()
            .filter(|line| line.starts_with("  aranha"))
        {
            let problems = problems(line, &commands);
            let place = command.name();
            found.extend(
                problems
                    .iter()
                    .map(|problem| format!("{place} --help: {problem}")),
            );
        }
    }
    assert_none(&found);
}

#[test]
fn every_command_and_flag_is_documented() {
    let sections = read("docs/commands.md");
    let mut missing = Vec::new();
    for command in help::commands() {
        let name = command.name();
        let about: Vec<_> = sections
            .iter()
            .filter(|section| section.commands().contains(&name.as_str()))
            .collect();
        // A group such as `aranha url` is documented by its commands.
        if about.is_empty() && command.subcommands.is_empty() {
            missing.push(format!("no heading names `{name}`"));
            continue;
        }
        let common = sections
            .iter()
            .filter(|section| section.heading == COMMON_FLAGS);
        let code: Vec<_> = about
            .into_iter()
            .chain(common)
            .flat_map(Section::code)
            .flat_map(|code| code.split([' ', '=', ',']))
            .collect();
        let undocumented = command
            .flags
            .iter()
            .filter(|flag| !code.contains(&flag.as_str()));
        missing.extend(undocumented.map(|flag| format!("`{flag}` of `{name}` is not described")));
    }
    assert_none(&missing);
}

#[test]
fn the_check_finds_unknown_commands_and_flags() {
    let commands = help::commands();
    let check = |code: &str, expected: &[&str]| assert_eq!(problems(code, &commands), expected);
    check(
        "aranha crawl https://example.org -c example --contact me@example.org",
        &[],
    );
    check("echo x | aranha url canon --json", &[]);
    check("$ aranha crwal", &["aranha has no command `crwal`"]);
    check("aranha url cannon", &["aranha url has no command `cannon`"]);
    check(
        "aranha status --asleep",
        &["aranha status has no flag `--asleep`"],
    );
    check("aranha pages -x | head", &["aranha pages has no flag `-x`"]);
    check("aranha COMMAND --help", &[]);
}

/// The recipes that need no network run on the collection of the demo, in the order of the document.
#[test]
fn recipes_of_the_cookbook_run_on_the_demo() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_aranha"));
    let programs = program.parent().expect("the program is in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let shell = |line: &str| {
        let output = Command::new("sh")
            .args(["-e", "-c", line])
            .current_dir(folder.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .expect("sh runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}\n{errors}");
        output.stdout
    };
    shell("aranha demo -c example --pause 1ms --quiet");
    let offline = [
        "aranha check",
        "aranha export",
        "aranha pages",
        "aranha changes",
        "aranha status",
        "aranha seed list -c from",
        "head ",
        "printf ",
        "grep ",
        "cp ",
    ];
    let mut count = 0;
    for section in read("docs/cookbook.md") {
        for line in section
            .lines
            .iter()
            .filter_map(|line| line.strip_prefix("    "))
        {
            if offline.iter().any(|start| line.starts_with(start)) {
                shell(line);
                count += 1;
            }
        }
    }
    assert_eq!(count, 15, "recipes run");
    for file in ["corpus.txt", "graph.tsv"] {
        let size = std::fs::metadata(folder.path().join(file)).map_or(0, |file| file.len());
        assert!(size > 100, "{file} has {size} bytes");
    }
    let seeds = String::from_utf8(shell("aranha seed list -c fromsitemap")).expect("UTF-8");
    assert_eq!(seeds.lines().count(), 2, "{seeds}");
}
