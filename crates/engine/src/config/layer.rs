//! One layer of the configuration: a TOML table, and the origin of each value.
//!
//! Each layer is deserialised into [`Config`] on its own, with the defaults for missing values. So an error has the
//! position of its key or value in the file.

use std::fs;
use std::ops::Range;
use std::path::Path;

use aranha_fetch::{Credentials, ProxySetting};
use aranha_frontier::FrontierUrl;
use serde::Deserialize as _;
use toml::de::DeTable;
use toml::{Table, Value};

use super::error::{ConfigError, FilePosition};
use super::leaf::{Leaf, dotted, leaves, leaves_of};
use super::nearest::nearest;
use super::profile::Profile;
use super::renamed::{self, OldName, Renamed};
use super::{Config, Origin};

/// Values that the command line set, each with its dotted key and the name of the flag.
#[derive(Clone, Debug, Default)]
pub struct FlagValues(Vec<FlagValue>);

#[derive(Clone, Debug)]
struct FlagValue {
    flag: String,
    key: &'static str,
    value: Value,
}

impl FlagValues {
    /// Adds the value of a flag. `flag` is its name with dashes (`--pause`); `key` is the dotted key that it sets
    /// (`crawl.pause`).
    pub fn set(&mut self, flag: impl Into<String>, key: &'static str, value: impl Into<Value>) {
        self.0.push(FlagValue {
            flag: flag.into(),
            key,
            value: value.into(),
        });
    }
}

/// The flag that sets any value.
const SET_FLAG: &str = "--set";
const SET_HINT: &str = "for example crawl.pause=5s; `aranha config show` lists the keys";

/// A valid layer.
#[derive(Debug, Default)]
pub(super) struct ConfigLayer {
    pub(super) table: Table,
    pub(super) origins: Vec<(String, Origin)>,
    /// Old key names in this layer.
    pub(super) renamed: Vec<Renamed>,
}

impl ConfigLayer {
    /// Reads a configuration file.
    pub(super) fn file(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::text(path, &text)
    }

    /// Reads the text of a configuration file.
    pub(super) fn text(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let Document {
            mut table,
            leaves,
            old_names,
        } = read(text).map_err(|error| locate(path, text, &error))?;
        make_paths_absolute(&mut table, path);
        let renamed = |name: OldName| Renamed {
            place: format!(
                "{}, line {}",
                path.display(),
                line_and_column(text, name.span.start).0
            ),
            old: name.old,
            new: name.new,
        };
        let origin = |leaf: Leaf| {
            let (line, _) = line_and_column(text, leaf.span.start);
            (
                leaf.key,
                Origin::File {
                    path: path.to_owned(),
                    line,
                },
            )
        };
        Ok(Self {
            table,
            origins: leaves.into_iter().map(origin).collect(),
            renamed: old_names.into_iter().map(renamed).collect(),
        })
    }

    /// Reads a built-in profile.
    pub(super) fn profile(profile: &Profile) -> Self {
        let Document { table, leaves, .. } =
            read(profile.text).expect("the tests read every profile");
        let origin = || Origin::Profile(profile.name.to_owned());
        Self {
            table,
            origins: leaves
                .into_iter()
                .map(|leaf| (leaf.key, origin()))
                .collect(),
            renamed: Vec::new(),
        }
    }

    /// Makes one layer from each flag of the command line.
    pub(super) fn flags(flags: &FlagValues) -> Result<Vec<Self>, ConfigError> {
        flags.0.iter().map(Self::flag).collect()
    }

    fn flag(setting: &FlagValue) -> Result<Self, ConfigError> {
        let mut table = nest(setting.key, setting.value.clone());
        // Relative paths are relative to the current folder.
        make_paths_absolute(&mut table, Path::new(&setting.flag));
        match table.clone().try_into::<Config>() {
            Ok(_) => {
                let origin = Origin::Flag(setting.flag.clone());
                let keys = match &setting.value {
                    Value::Table(values) => values
                        .keys()
                        .map(|name| dotted(setting.key, name))
                        .collect(),
                    _ => vec![setting.key.to_owned()],
                };
                Ok(Self {
                    table,
                    origins: keys.into_iter().map(|key| (key, origin.clone())).collect(),
                    renamed: Vec::new(),
                })
            }
            Err(error) => Err(ConfigError::Flag {
                flag: setting.flag.clone(),
                sentence: plain_types(error.message()),
                hint: None,
            }),
        }
    }

    /// Reads one `section.key=value` of the flag `--set`. A value that is not valid TOML is taken as a string, so that
    /// strings need no quotation marks.
    pub(super) fn setting(text: &str) -> Result<Self, ConfigError> {
        let Some((key, value)) = text.split_once('=').map(|(k, v)| (k.trim(), v.trim())) else {
            return Err(ConfigError::Flag {
                flag: SET_FLAG.to_owned(),
                sentence: "expected SECTION.KEY=VALUE".to_owned(),
                hint: Some(SET_HINT.to_owned()),
            });
        };
        let as_toml = format!("{key} = {value}");
        let as_string = format!("{key} = {}", Value::from(value));
        let document = match read(&as_toml) {
            Ok(document) => document,
            Err(error) => read(&as_string).map_err(|as_string_error| {
                let is_toml = DeTable::parse(&as_toml).is_ok();
                set_error(key, if is_toml { &error } else { &as_string_error })
            })?,
        };
        let Document {
            mut table,
            leaves,
            old_names,
        } = document;
        // Relative paths are relative to the current folder.
        make_paths_absolute(&mut table, Path::new(SET_FLAG));
        let origin = || Origin::Flag(SET_FLAG.to_owned());
        let renamed = |name: OldName| Renamed {
            place: SET_FLAG.to_owned(),
            old: name.old,
            new: name.new,
        };
        Ok(Self {
            table,
            origins: leaves
                .into_iter()
                .map(|leaf| (leaf.key, origin()))
                .collect(),
            renamed: old_names.into_iter().map(renamed).collect(),
        })
    }

    /// The profile that this layer names.
    pub(super) fn named_profile(&self) -> Option<&str> {
        self.table.get("profile").and_then(Value::as_str)
    }
}

/// A TOML document that is a valid layer.
#[derive(Debug)]
struct Document {
    table: Table,
    leaves: Vec<Leaf>,
    old_names: Vec<OldName>,
}

/// Why a document is not a valid layer.
#[derive(Debug)]
enum DocumentError {
    Toml(toml::de::Error),
    /// The old name and the new name of a key are both set.
    Both(OldName),
}

impl From<toml::de::Error> for DocumentError {
    fn from(error: toml::de::Error) -> Self {
        Self::Toml(error)
    }
}

fn read(text: &str) -> Result<Document, DocumentError> {
    let mut document = DeTable::parse(text)?;
    let old_names = renamed::replace(document.get_mut()).map_err(DocumentError::Both)?;
    let leaves = leaves_of(document.get_ref());
    Config::deserialize(toml::Deserializer::from(document.clone()))?;
    Ok(Document {
        table: Table::deserialize(toml::Deserializer::from(document))?,
        leaves,
        old_names,
    })
}

/// Converts the dotted key `a.b` and a value to the table `{ a = { b = value } }`.
fn nest(key: &str, value: Value) -> Table {
    match key.split_once('.') {
        Some((first, rest)) => {
            Table::from_iter([(first.to_owned(), Value::Table(nest(rest, value)))])
        }
        None => Table::from_iter([(key.to_owned(), value)]),
    }
}

/// Makes paths absolute. In a file, paths are relative to the folder of this file, but a collection keeps a copy of the
/// configuration in another folder.
fn make_paths_absolute(table: &mut Table, path: &Path) {
    let Some(folder) = path.parent() else { return };
    let files = table
        .get_mut("crawl")
        .and_then(|crawl| crawl.get_mut("blacklist_files"));
    for file in files.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::String(name) = file {
            let named = folder.join(&*name);
            let absolute = std::path::absolute(&named).ok();
            let text = absolute.and_then(|path| path.into_os_string().into_string().ok());
            *name = text.unwrap_or_else(|| named.display().to_string());
        }
    }
    let url = table
        .get_mut("frontier")
        .and_then(|frontier| frontier.get_mut("url"));
    if let Some(Value::String(text)) = url
        && let Some(absolute) = FrontierUrl::resolve_path(text, folder)
    {
        *text = absolute;
    }
    let Some(Value::Table(fetch)) = table.get_mut("fetch") else {
        return;
    };
    if let Some(Value::String(file)) = fetch.get_mut("cookies")
        && !file.is_empty()
        && let Ok(absolute) = std::path::absolute(folder.join(&*file))
    {
        *file = absolute.display().to_string();
    }
    for key in ["proxy", "https_proxy"] {
        if let Some(Value::String(text)) = fetch.get_mut(key)
            && let Some(absolute) = ProxySetting::resolve_path(text, folder)
        {
            *text = absolute;
        }
    }
    let auth = fetch.get_mut("auth").and_then(Value::as_table_mut);
    for (_, credentials) in auth.into_iter().flatten() {
        if let Value::String(text) = credentials
            && let Some(absolute) = Credentials::resolve_path(text, folder)
        {
            *text = absolute;
        }
    }
}

impl DocumentError {
    /// The byte range of the problem, a sentence that describes it, and a hint.
    fn explain(&self) -> (Option<Range<usize>>, String, Option<String>) {
        match self {
            Self::Toml(error) => {
                let (sentence, hint) = explain(error.message());
                (error.span(), sentence, hint)
            }
            Self::Both(OldName { old, new, span }) => (
                Some(span.clone()),
                format!("`{old}` is the old name of `{new}`, which is set too"),
                Some(format!("remove `{old}`")),
            ),
        }
    }
}

fn set_error(key: &str, error: &DocumentError) -> ConfigError {
    let (_, sentence, hint) = error.explain();
    let is_list = sentence.ends_with("expected a sequence");
    let list_hint = || format!("write a list as '{key}=[\"…\", \"…\"]'");
    ConfigError::Flag {
        flag: format!("{SET_FLAG} {key}"),
        sentence,
        hint: hint.or_else(|| is_list.then(list_hint)),
    }
}

fn locate(path: &Path, text: &str, error: &DocumentError) -> ConfigError {
    let (span, sentence, hint) = error.explain();
    let (line, column) = line_and_column(text, span.map_or(0, |span| span.start));
    let position = FilePosition {
        path: path.to_owned(),
        line,
        column,
    };
    ConfigError::File {
        position,
        sentence,
        hint,
    }
}

/// Line and column of a byte offset, both counted from 1.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[start..].chars().count() + 1,
    )
}

/// Turns a message of the TOML parser into a sentence and a hint.
fn explain(message: &str) -> (String, Option<String>) {
    let Some(rest) = message.strip_prefix("unknown field `") else {
        return (plain_types(&message.trim_end().replace('\n', ", ")), None);
    };
    let mut quoted = rest.split('`');
    let key = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.skip(1).step_by(2).collect();
    (format!("unknown key `{key}`"), Some(hint_for(key, &known)))
}

/// Replaces the names of Rust's number types at the end of a message of the TOML parser.
fn plain_types(message: &str) -> String {
    for (rust, plain) in [
        ("usize", "a whole number"),
        ("u64", "a whole number"),
        ("u32", "a whole number"),
        ("u16", "a whole number"),
        ("u8", "a whole number"),
        ("f64", "a number"),
    ] {
        if let Some(start) = message.strip_suffix(&format!("expected {rust}")) {
            return format!("{start}expected {plain}");
        }
    }
    message.to_owned()
}

/// A hint for an unknown key.
fn hint_for(key: &str, known: &[&str]) -> String {
    let defaults = toml::to_string(&Config::default()).expect("the defaults can be serialised");
    let all = leaves(&defaults).expect("serialised TOML can be parsed");
    let is_in_section =
        |leaf: &&Leaf| leaf.key.rsplit('.').next() == Some(key) && !leaf.table.is_empty();
    if let Some(leaf) = all.iter().find(is_in_section) {
        return format!("`{key}` belongs in [{}]", leaf.table);
    }
    match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the keys here are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one_in_characters() {
        assert_eq!(line_and_column("", 0), (1, 1));
        assert_eq!(line_and_column("ab\ncd", 4), (2, 2));
        assert_eq!(line_and_column("é = 1", 3), (1, 3));
        assert_eq!(line_and_column("ab", 99), (1, 3));
    }

    #[test]
    fn paths_are_relative_to_the_configuration_file() {
        let mut table = nest(
            "crawl.blacklist_files",
            Value::from(vec!["black.txt", "/etc/black.txt"]),
        );
        make_paths_absolute(&mut table, Path::new("somewhere/aranha.toml"));
        let expected = std::env::current_dir().unwrap().join("somewhere/black.txt");
        let expected = Value::from(vec![expected.to_str().unwrap(), "/etc/black.txt"]);
        assert_eq!(table["crawl"]["blacklist_files"], expected);
    }
}
