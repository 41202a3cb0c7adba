//! The black list that the nodes of a crawl share, and its copy in the folder of a node.
//!
//! The list is a text in the frontier. `blacklist.txt` is a copy, to which the node adds traps, and the user may add
//! entries. `blacklist.shared` keeps the text of the last copy, without these additions. So **an entry that is in
//! `blacklist.txt` but not in `blacklist.shared` was added in this folder**. `blacklist.shared` is written after
//! `blacklist.txt`. If a crash happens in between, the exchange is repeated.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use aranha_url::blacklist;

use crate::collection::{Collection, files};

/// The files of a node.
#[derive(Debug)]
pub(crate) struct SharedBlacklist {
    file: PathBuf,
    /// The shared list as it was last copied.
    base: PathBuf,
}

impl SharedBlacklist {
    pub(crate) fn new(collection: &Collection) -> Self {
        Self {
            file: collection.blacklist(),
            base: collection.blacklist().with_extension("shared"),
        }
    }

    /// The lines that were added to `blacklist.txt` in this folder.
    pub(crate) fn additions(&self) -> io::Result<Vec<String>> {
        let (base, local) = (read(&self.base)?, read(&self.file)?);
        Ok(new_lines(&base, &local).map(str::to_owned).collect())
    }

    /// Copies the shared list into the folder. Returns true if entries were removed from the shared list since the last
    /// copy.
    pub(crate) fn store(&self, shared: &str) -> io::Result<bool> {
        let base = read(&self.base)?;
        if base == shared && self.file.exists() {
            return Ok(false);
        }
        if shared.is_empty() && !self.file.exists() {
            return Ok(false);
        }
        let _lock = files::lock(&self.file)?;
        let local = read(&self.file)?;
        // Lines that were added meanwhile stay in the file, and are sent next time.
        let mut text = shared.to_owned();
        let late: Vec<&str> = new_lines(&base, &local).collect();
        for line in new_lines(shared, &late.join("\n")) {
            text.extend([line, "\n"]);
        }
        if text != local {
            files::replace(&self.file, &text)?;
        }
        files::replace(&self.base, shared)?;
        Ok(entries(&base).any(|entry| !entries(shared).any(|other| other == entry)))
    }
}

/// The text with those of these lines whose entries are not in it yet. `None` if all entries are in it.
pub(crate) fn add_lines(text: &str, lines: &[String]) -> Option<String> {
    let joined = lines.join("\n");
    let mut new = new_lines(text, &joined).peekable();
    new.peek()?;
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for line in new {
        text.extend([line, "\n"]);
    }
    Some(text)
}

/// The lines of `local` whose entries are not in `base`.
fn new_lines<'a>(base: &'a str, local: &'a str) -> impl Iterator<Item = &'a str> {
    let mut known: HashSet<&str> = entries(base).collect();
    local.lines().filter(move |line| {
        let entry = blacklist::entry_of(line);
        !entry.is_empty() && known.insert(entry)
    })
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    let entries = text.lines().map(blacklist::entry_of);
    entries.filter(|entry| !entry.is_empty())
}

fn read(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two folders exchange their lists through a shared text, as nodes do.
    #[test]
    fn additions_and_removals_reach_the_other_folder() {
        let folders = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let collection = Collection::at(folders.path().join(name));
            fs::create_dir_all(collection.root()).unwrap();
            (SharedBlacklist::new(&collection), collection.blacklist())
        };
        let (one, one_file) = open("one");
        let (two, two_file) = open("two");
        let mut shared = String::new();
        let exchange = |list: &SharedBlacklist, shared: &mut String| {
            let additions = list.additions().unwrap();
            if let Some(text) = add_lines(shared, &additions) {
                *shared = text;
            }
            list.store(shared).unwrap()
        };
        assert!(!exchange(&one, &mut shared));
        assert!(!one_file.exists(), "an empty list needs no file");
        fs::write(&one_file, "# mine\na.example  # spam\n").unwrap();
        assert!(!exchange(&one, &mut shared));
        assert!(!exchange(&two, &mut shared));
        assert_eq!(
            fs::read_to_string(&two_file).unwrap(),
            "a.example  # spam\n"
        );
        fs::write(&two_file, "a.example  # spam\nb.example").unwrap();
        exchange(&two, &mut shared);
        exchange(&one, &mut shared);
        let list = fs::read_to_string(&one_file).unwrap();
        assert_eq!(list, "a.example  # spam\nb.example\n");
        // An operator removes an entry from the shared list. The folders do not bring it back.
        shared = "b.example\n".to_owned();
        assert!(exchange(&one, &mut shared), "an entry was removed");
        assert!(exchange(&two, &mut shared));
        assert_eq!(shared, "b.example\n");
        assert_eq!(fs::read_to_string(&one_file).unwrap(), "b.example\n");
        assert!(!exchange(&one, &mut shared));
    }
}
