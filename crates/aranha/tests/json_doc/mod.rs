//! Reads the tables of docs/json.md as a schema of the JSON output.
//!
//! A section is a heading with a table whose first two columns are a field path and its type. A path is `a.b`, `a[]`
//! for the elements of an array, or `a.*` for the values of an object with any keys. A type is a list of JSON types
//! separated by `or`, the word `any`, or a link to the section that describes the object. `, optional` may follow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// Key of the child that describes the elements of an array.
const ELEMENTS: &str = "[]";
/// Key of the child that describes all values of an object.
const ANY_KEY: &str = "*";

/// One value and the fields below it.
#[derive(Clone, Debug, Default)]
struct Schema {
    /// JSON types that the value may have.
    types: BTreeSet<String>,
    /// Heading of the section that describes the object, in lower case.
    section: Option<String>,
    optional: bool,
    children: BTreeMap<String, Schema>,
}

impl Schema {
    /// The schema at a path such as `history[].time`. Missing steps of the path are created.
    fn at(&mut self, path: &str) -> &mut Self {
        let path = path.replace("[]", ".[]");
        let mut schema = self;
        for key in path.split('.') {
            let parent = if key == ELEMENTS { "array" } else { "object" };
            schema.types.insert(parent.to_owned());
            schema = schema.children.entry(key.to_owned()).or_default();
        }
        schema
    }

    fn set_type(&mut self, text: &str) {
        let text = text.strip_suffix(", optional").map_or(text, |text| {
            self.optional = true;
            text
        });
        for kind in text.split(" or ") {
            if let Some((section, _)) = kind.strip_prefix('[').and_then(|kind| kind.split_once(']'))
            {
                self.section = Some(section.to_owned());
                self.types.insert("object".to_owned());
            } else {
                self.types.insert(kind.to_owned());
            }
        }
    }
}

/// The sections of docs/json.md.
pub(crate) struct JsonDoc {
    text: String,
    /// Schemas by heading, in lower case.
    sections: BTreeMap<String, Schema>,
}

impl JsonDoc {
    pub(crate) fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
        let text = std::fs::read_to_string(path).expect("docs/json.md can be read");
        let mut sections: BTreeMap<String, Schema> = BTreeMap::new();
        let mut heading = String::new();
        for line in text.lines() {
            if let Some(title) = line.strip_prefix('#') {
                heading = title.trim_start_matches('#').trim().to_lowercase();
                continue;
            }
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            if heading == "old names" {
                if let [_, section, old, _, _] = cells[..]
                    && let Some(path) = quoted(old)
                {
                    let section = sections.get_mut(&section.to_lowercase());
                    let schema = section
                        .unwrap_or_else(|| panic!("no section for {line}"))
                        .at(path);
                    schema.set_type("any, optional");
                }
            } else if let [_, path, kind, _, _] = cells[..]
                && let Some(path) = quoted(path)
            {
                sections
                    .entry(heading.clone())
                    .or_default()
                    .at(path)
                    .set_type(kind);
            }
        }
        Self { text, sections }
    }

    /// Fails if a field of these objects is not documented in the section, or if a documented field is missing.
    #[track_caller]
    pub(crate) fn check(&self, section: &str, objects: &[Value]) {
        assert!(!objects.is_empty(), "no output for {section}");
        let schema = self.section(section);
        let mut faults = BTreeSet::new();
        for object in objects {
            self.compare(&schema, "", object, &mut faults);
        }
        let faults: Vec<_> = faults.into_iter().collect();
        assert!(
            faults.is_empty(),
            "docs/json.md, section {section}:\n{}",
            faults.join("\n")
        );
    }

    /// Whether docs/json.md contains this text.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    #[track_caller]
    fn section(&self, heading: &str) -> Schema {
        let section = self.sections.get(&heading.to_lowercase());
        section
            .unwrap_or_else(|| panic!("docs/json.md has no table below {heading}"))
            .clone()
    }

    fn compare(&self, schema: &Schema, path: &str, value: &Value, faults: &mut BTreeSet<String>) {
        if schema.types.contains("any") {
            return;
        }
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if !schema.types.contains(kind) {
            faults.insert(format!(
                "{path}: {kind} is not among the documented types {:?}",
                schema.types
            ));
            return;
        }
        let mut children = schema.children.clone();
        if let Some(section) = &schema.section {
            children.extend(self.section(section).children);
        }
        match value {
            Value::Array(elements) => {
                for element in elements {
                    self.compare(&children[ELEMENTS], &format!("{path}[]"), element, faults);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    let path = format!("{path}.{key}");
                    match children.get(key).or_else(|| children.get(ANY_KEY)) {
                        Some(child) => self.compare(child, &path, value, faults),
                        None => drop(faults.insert(format!("{path}: not documented"))),
                    }
                }
                for (key, child) in &children {
                    if !child.optional && key != ANY_KEY && !fields.contains_key(key) {
                        faults.insert(format!("{path}.{key}: documented, but not printed"));
                    }
                }
            }
            _ => {}
        }
    }
}

/// The content of a table cell in backquotes.
fn quoted(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}
