//! A copy of the source tree in which mutations are made.
//!
//! The copy has its own target folder, so its first use builds everything. Each use copies all files again, and each
//! mutation writes the files that it changes, so that cargo sees a new modification time and rebuilds them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::mutations::{Edit, Mutation, Test};
use aranha_lab::Group;

/// The folders of the copy and of its build.
pub(crate) struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// Copies all files that git tracks or would add.
    pub(crate) fn of(root: &Path) -> Copy {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
        let (tree, target) = (folder.join("tree"), folder.join("target"));
        if tree.exists() {
            std::fs::remove_dir_all(&tree).expect("the old copy is removed");
        }
        let listed = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(root)
            .output()
            .expect("git runs");
        let listed = String::from_utf8(listed.stdout).expect("names are UTF-8");
        for name in listed.split_terminator('\0') {
            let (from, to) = (root.join(name), tree.join(name));
            if from.is_file() {
                std::fs::create_dir_all(to.parent().expect("the path is inside the tree"))
                    .expect("the folder is created");
                std::fs::write(to, std::fs::read(from).expect("the file is readable"))
                    .expect("the file is written");
            }
        }
        Copy { tree, target }
    }

    /// Makes the mutation, runs its tests, and reverts it. Returns the tests that did not fail.
    pub(crate) fn try_out(&self, mutation: &Mutation) -> Vec<String> {
        let name = mutation.hazard.name();
        let before: Vec<String> = mutation
            .edits
            .iter()
            .map(|Edit(file, from, to)| {
                let text =
                    std::fs::read_to_string(self.tree.join(file)).expect("the file is readable");
                assert_eq!(text.matches(from).count(), 1, "{name}: in {file}: {from}");
                std::fs::write(self.tree.join(file), text.replace(from, to))
                    .expect("the file is written");
                text
            })
            .collect();
        let mut passed = Vec::new();
        for test in &mutation.tests {
            let (failed, output) = self.fails(*test, mutation);
            println!(
                "{name}: {mutation}: {test}: {}",
                if failed { "fails" } else { "DOES NOT FAIL" }
            );
            for line in failure_lines(&output) {
                println!("    {line}");
            }
            if !failed {
                passed.push(format!(
                    "{name}: {mutation}: {test} does not fail\n{output}"
                ));
            }
        }
        for (Edit(file, ..), text) in mutation.edits.iter().zip(before).rev() {
            std::fs::write(self.tree.join(file), text).expect("the file is written");
        }
        passed
    }

    /// Runs a test. Returns whether it failed, and its output. A row counts as failed only if its own check failed.
    fn fails(&self, test: Test, mutation: &Mutation) -> (bool, String) {
        let (file, test_name) = match test {
            Test::Named(file, name) => (file, name),
            Test::Row => ("crates/aranha/tests/hazards/main.rs", group(mutation)),
        };
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .arg("test")
            .args(self.target_of(file))
            .arg(test_name)
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUST_BACKTRACE", "0")
            .env_remove("ARANHA_HAZARD");
        if test == Test::Row {
            command.env("ARANHA_HAZARD", mutation.hazard.name());
        }
        let output = command.output().expect("cargo runs");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let named = |line: &str, end: &str| {
            let name = line
                .strip_suffix(end)
                .and_then(|line| line.strip_prefix("test "));
            name.is_some_and(|name| name == test_name || name.ends_with(&format!("::{test_name}")))
        };
        let failed = text.lines().any(|line| named(line, " ... FAILED"));
        let failed = match test {
            Test::Named(..) => failed || has_overflowed(&text, test_name),
            Test::Row => failed && text.contains(&format!("\"{}: ", mutation.hazard.name())),
        };
        (failed, text)
    }

    /// The cargo flags that select the test target of a file.
    fn target_of(&self, file: &str) -> Vec<String> {
        let mut parts = file.split('/').skip(1);
        let folder = parts.next().expect("crates/NAME/...");
        let package = match folder {
            "aranha" => folder.to_owned(),
            _ => format!("aranha-{folder}"),
        };
        let mut flags = vec!["-p".to_owned(), package];
        match (parts.next(), parts.next()) {
            (Some("tests"), Some(name)) => {
                let name = name.trim_end_matches(".rs").to_owned();
                flags.extend(["--test".to_owned(), name]);
            }
            _ if self
                .tree
                .join("crates")
                .join(folder)
                .join("src/lib.rs")
                .exists() =>
            {
                flags.push("--lib".to_owned());
            }
            _ => flags.push("--bins".to_owned()),
        }
        flags
    }
}

/// A stack overflow ends the process without a `FAILED` line.
fn has_overflowed(output: &str, test: &str) -> bool {
    output
        .lines()
        .any(|line| line.contains(test) && line.ends_with("has overflowed its stack"))
}

/// The test that checks the row of a hazard.
fn group(mutation: &Mutation) -> &'static str {
    match mutation.hazard.group() {
        Group::Trap => "traps",
        Group::Server => "servers",
        Group::Content => "contents",
        Group::Attack => "attacks",
        Group::Name => "names",
    }
}

/// The first lines of the panic message.
fn failure_lines(output: &str) -> impl Iterator<Item = &str> {
    let lines = output
        .lines()
        .skip_while(|line| !line.starts_with("---- "))
        .skip(1);
    let lines = lines.take_while(|line| !line.starts_with("note: "));
    lines.filter(|line| !line.is_empty()).take(8)
}
