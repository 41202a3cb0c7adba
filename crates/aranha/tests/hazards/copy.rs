//! A copy of the tree in which defences are taken out, so that nobody's files are touched.
//!
//! It has a target folder of its own, beside it: the first run builds everything. The files are written anew for each
//! run, and so are those of a mutation before and after it: what was built of changed code is never taken for current.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::mutations::{Edit, Mutation, Test};
use aranha_lab::Group;

/// Sources, and what was built of them.
pub(crate) struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// All files that git knows or would know.
    pub(crate) fn of(root: &Path) -> Copy {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
        let (tree, target) = (folder.join("tree"), folder.join("target"));
        if tree.exists() {
            std::fs::remove_dir_all(&tree).expect("an old copy goes");
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
                std::fs::create_dir_all(to.parent().expect("inside the tree")).expect("a folder");
                std::fs::write(to, std::fs::read(from).expect("reads")).expect("writes");
            }
        }
        Copy { tree, target }
    }

    /// Makes the mutation, runs its tests, undoes it. Who did not notice?
    pub(crate) fn try_out(&self, mutation: &Mutation) -> Vec<String> {
        let name = mutation.hazard.name();
        let before: Vec<String> = mutation
            .edits
            .iter()
            .map(|Edit(file, from, to)| {
                let text = std::fs::read_to_string(self.tree.join(file)).expect("reads");
                assert_eq!(text.matches(from).count(), 1, "{name}: in {file}: {from}");
                std::fs::write(self.tree.join(file), text.replace(from, to)).expect("writes");
                text
            })
            .collect();
        let mut unnoticed = Vec::new();
        for test in &mutation.tests {
            let (noticed, said) = self.fails(*test, mutation);
            println!(
                "{name}: {mutation}: {test}: {}",
                if noticed { "fails" } else { "DOES NOT FAIL" }
            );
            for line in telling(&said) {
                println!("    {line}");
            }
            if !noticed {
                unnoticed.push(format!("{name}: {mutation}: {test} does not fail\n{said}"));
            }
        }
        for (Edit(file, ..), text) in mutation.edits.iter().zip(before).rev() {
            std::fs::write(self.tree.join(file), text).expect("writes");
        }
        unnoticed
    }

    /// Runs a test: whether it failed, it and for its own reason, and what was said.
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
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let named = |line: &str, end: &str| {
            let name = line
                .strip_suffix(end)
                .and_then(|line| line.strip_prefix("test "));
            name.is_some_and(|name| name == test_name || name.ends_with(&format!("::{test_name}")))
        };
        let failed = said.lines().any(|line| named(line, " ... FAILED"));
        let own = match test {
            Test::Named(..) => failed || overflown(&said, test_name),
            Test::Row => failed && said.contains(&format!("\"{}: ", mutation.hazard.name())),
        };
        (own, said)
    }

    /// The flags that build the test target of a file, and nothing else.
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

/// A test that ends its process has no other last word.
fn overflown(said: &str, test: &str) -> bool {
    said.lines()
        .any(|line| line.contains(test) && line.ends_with("has overflowed its stack"))
}

/// The test that runs a hazard's row.
fn group(mutation: &Mutation) -> &'static str {
    match mutation.hazard.group() {
        Group::Trap => "traps",
        Group::Server => "servers",
        Group::Content => "contents",
        Group::Attack => "attacks",
        Group::Name => "names",
    }
}

/// The lines of a failure that say why, for whoever looks on.
fn telling(said: &str) -> impl Iterator<Item = &str> {
    let lines = said
        .lines()
        .skip_while(|line| !line.starts_with("---- "))
        .skip(1);
    let lines = lines.take_while(|line| !line.starts_with("note: "));
    lines.filter(|line| !line.is_empty()).take(8)
}
