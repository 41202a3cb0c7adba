//! Recursive-descent parser of filter expressions. Every error has its position and a hint.

use aranha_units::size;

use super::hint;
use super::{Comparison, Expression, FilterError, Predicate};
use crate::blacklist::Blacklist;
use crate::canonical::Scheme;

/// Names of the predicates, for hints.
pub(super) const NAMES: [&str; 12] = [
    "domain", "host", "prefix", "scheme", "path", "query", "ext", "regex", "depth", "type", "size",
    "language",
];
/// Maximum depth of nested parentheses. It bounds the recursion.
const DEEPEST: usize = 100;
/// Maximum size of a compiled regular expression in bytes.
const LARGEST_REGEX: usize = 1 << 20;

/// Whether the text is written as an expression, not as a single entry of a black list.
pub(super) fn is_expression(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_start_matches('(');
        let end = word.find(|c: char| !c.is_ascii_alphabetic());
        let (name, rest) = word.split_at(end.unwrap_or(word.len()));
        let is_name = NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
        is_name && rest.starts_with([':', '<', '>', '=', '!'])
    })
}

pub(super) fn parse(text: &str) -> Result<Expression, FilterError> {
    let mut reader = FilterParser {
        text,
        at: 0,
        open: 0,
    };
    reader.skip_space();
    if reader.at == text.len() {
        return Err(reader.fault(
            0,
            "the filter is empty",
            "write for example domain:example.org and not ext:zip",
        ));
    }
    let node = reader.alternatives()?;
    match reader.rest().chars().next() {
        None => Ok(node),
        Some(')') => Err(reader.fault(
            reader.at,
            "this `)` closes nothing",
            "remove it, or open it before",
        )),
        Some(_) => Err(reader.fault(
            reader.at,
            "`and` or `or` is missing",
            "join tests by and, or, not",
        )),
    }
}

struct FilterParser<'a> {
    text: &'a str,
    at: usize,
    open: usize,
}

impl<'a> FilterParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn fault(
        &self,
        position: usize,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> FilterError {
        FilterError {
            position,
            column: self.text[..position].chars().count() + 1,
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    /// Consumes `word` if it comes next. Returns whether `word` was consumed.
    fn word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let here = rest
            .get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
            && !rest[word.len()..].starts_with(|c: char| {
                c.is_alphanumeric() || matches!(c, ':' | '<' | '>' | '=' | '!')
            });
        if here {
            self.at += word.len();
            self.skip_space();
        }
        here
    }

    fn alternatives(&mut self) -> Result<Expression, FilterError> {
        let mut nodes = vec![self.conjunction()?];
        while self.word("or") {
            nodes.push(self.conjunction()?);
        }
        Ok(single(nodes, Expression::Any))
    }

    fn conjunction(&mut self) -> Result<Expression, FilterError> {
        let mut nodes = vec![self.negation()?];
        while self.word("and") {
            nodes.push(self.negation()?);
        }
        Ok(single(nodes, Expression::All))
    }

    fn negation(&mut self) -> Result<Expression, FilterError> {
        let mut negated = false;
        while self.word("not") {
            negated = !negated;
        }
        let node = if self.rest().starts_with('(') {
            self.group()?
        } else {
            Expression::Predicate(self.test()?)
        };
        self.skip_space();
        Ok(if negated {
            Expression::Not(Box::new(node))
        } else {
            node
        })
    }

    fn group(&mut self) -> Result<Expression, FilterError> {
        self.open += 1;
        if self.open > DEEPEST {
            return Err(self.fault(
                self.at,
                "parentheses are nested too deeply",
                "write a flatter filter",
            ));
        }
        self.at += 1;
        self.skip_space();
        let node = self.alternatives()?;
        if !self.rest().starts_with(')') {
            return Err(self.fault(
                self.at,
                "`)` is missing",
                "close what was opened, and join tests by and, or, not",
            ));
        }
        self.at += 1;
        self.open -= 1;
        Ok(node)
    }

    fn test(&mut self) -> Result<Predicate, FilterError> {
        let start = self.at;
        let rest = self.rest();
        let length = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let name = rest[..length].to_ascii_lowercase();
        if !NAMES.contains(&name.as_str()) {
            return self.entry(&name);
        }
        self.at += length;
        match name.as_str() {
            "depth" => {
                return self
                    .comparison("depth", "depth<5", |text| {
                        text.parse()
                            .map_err(|_| "write a number from 0 to 65535".to_owned())
                    })
                    .map(|(comparison, limit)| Predicate::Depth(comparison, limit));
            }
            "size" => {
                return self
                    .comparison("size", "size<10MB", |text| {
                        size::parse(text).map_err(|error| error.to_string())
                    })
                    .map(|(comparison, limit)| Predicate::Size(comparison, limit));
            }
            _ => {}
        }
        if !self.rest().starts_with(':') {
            // A host may begin with the name of a test: `host.example.org`.
            if self.rest().starts_with(['.', '-']) {
                self.at = start;
                return self.entry(&name);
            }
            return Err(self.fault(
                self.at,
                format!("`:` is missing after `{name}`"),
                format!("write {name}:value"),
            ));
        }
        self.at += 1;
        let value_start = self.at;
        let value = self.value()?;
        if value.is_empty() {
            return Err(self.fault(
                value_start,
                format!("the value of `{name}` is missing"),
                "write it right behind the colon",
            ));
        }
        self.build(&name, &value, value_start)
    }

    /// Reads a word that is not a named test: an entry of a black list, such as a domain or a URL. `name` is the
    /// letters at its start, in lower case.
    fn entry(&mut self, name: &str) -> Result<Predicate, FilterError> {
        let start = self.at;
        let word = self.value()?;
        if word.is_empty() {
            return Err(self.fault(
                start,
                "a test is missing",
                format!("the fields are {}", NAMES.join(", ")),
            ));
        }
        if let Some(hint) = hint::of_word(&word) {
            return Err(self.fault(start, format!("`{word}` is not a filter"), hint));
        }
        if hint::is_entry(&word) {
            return match Blacklist::of_entry(&word) {
                Ok(list) => Ok(Predicate::Entry(Box::new(list))),
                Err(problem) => Err(self.fault(
                    start,
                    format!("`{word}` is {problem}"),
                    "write for example example.org, example.org:8080 or https://example.org/a/*",
                )),
            };
        }
        let is_field = !name.is_empty() && word[name.len()..].starts_with(':');
        if is_field {
            return Err(self.fault(start, format!("unknown field `{name}`"), nearest(name)));
        }
        Err(self.fault(start, format!("`{word}` is not a filter"), nearest(name)))
    }

    /// Reads a comparison and its number.
    fn comparison<T>(
        &mut self,
        name: &str,
        example: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<(Comparison, T), FilterError> {
        const SIGNS: [(&str, Comparison); 8] = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("!=", Comparison::NotEqual),
            ("==", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
            ("=", Comparison::Equal),
            (":", Comparison::Equal),
        ];
        self.skip_space();
        let sign = SIGNS.iter().find(|(sign, _)| self.rest().starts_with(sign));
        let Some((sign, comparison)) = sign else {
            return Err(self.fault(
                self.at,
                "the comparison is missing",
                format!("write for example {example}"),
            ));
        };
        self.at += sign.len();
        self.skip_space();
        let start = self.at;
        let value = self.value()?;
        match parse(&value) {
            Ok(limit) => Ok((*comparison, limit)),
            Err(hint) => Err(self.fault(start, format!("`{value}` is not a {name}"), hint)),
        }
    }

    /// Reads a value. A value without quotation marks ends at the next space or at the closing parenthesis of the
    /// group.
    fn value(&mut self) -> Result<String, FilterError> {
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let mut open = 0;
        let end = self.rest().find(|c: char| match c {
            '(' => {
                open += 1;
                false
            }
            ')' => {
                open -= 1;
                open < 0
            }
            other => other.is_whitespace(),
        });
        let value = &self.rest()[..end.unwrap_or(self.rest().len())];
        self.at += value.len();
        Ok(value.to_owned())
    }

    /// Reads a value in quotation marks. `\"` inside it stands for a quotation mark. Any other backslash is literal, so
    /// that regular expressions need no double escaping.
    fn quoted(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let mut value = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((index, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += index + 1;
                    return Ok(value);
                }
                '\\' if matches!(chars.peek(), Some((_, '"'))) => {
                    value.push('"');
                    chars.next();
                }
                other => value.push(other),
            }
        }
        Err(self.fault(
            start,
            "the quotation mark is not closed",
            "write \\\" for a quotation mark inside",
        ))
    }

    fn build(&self, name: &str, value: &str, at: usize) -> Result<Predicate, FilterError> {
        let fault = |problem: String, hint: &str| self.fault(at, problem, hint);
        let items = || {
            value
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
        };
        Ok(match name {
            "domain" => Predicate::Domain(
                items()
                    .map(|item| {
                        crate::blacklist::domain_name(item).ok_or_else(|| {
                            fault(
                                format!("`{item}` is not a domain name"),
                                "write for example example.org or pt",
                            )
                        })
                    })
                    .collect::<Result<_, _>>()?,
            ),
            "host" => Predicate::Host(items().map(str::to_ascii_lowercase).collect()),
            "prefix" => prefix(value),
            "scheme" => Predicate::Scheme(
                items()
                    .map(|item| match item.to_ascii_lowercase().as_str() {
                        "http" => Ok(Scheme::Http),
                        "https" => Ok(Scheme::Https),
                        other => Err(fault(
                            format!("`{other}` is not a scheme that is crawled"),
                            "write http or https",
                        )),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            "path" if !value.starts_with(['/', '*']) => {
                return Err(fault(
                    "a path begins with `/`".to_owned(),
                    "write path:/… or path:*…",
                ));
            }
            "path" => Predicate::Path(value.to_owned()),
            "query" => Predicate::Query(value.trim_start_matches('?').to_owned()),
            "ext" => Predicate::Extension(
                items()
                    .map(|item| item.trim_start_matches('.').to_owned())
                    .collect(),
            ),
            "type" => Predicate::MediaType(
                items()
                    .map(|item| {
                        if item.contains('/') || item == "*" {
                            return Ok(item.to_ascii_lowercase());
                        }
                        Err(fault(
                            format!("`{item}` is not a media type"),
                            "write for example type:application/pdf or type:image/*",
                        ))
                    })
                    .collect::<Result<_, _>>()?,
            ),
            "language" => Predicate::Language(
                items()
                    .map(|item| {
                        if matches!(item.len(), 2 | 3)
                            && item.bytes().all(|b| b.is_ascii_alphabetic())
                        {
                            return Ok(item.to_ascii_lowercase());
                        }
                        Err(fault(
                            format!("`{item}` is not the code of a language"),
                            "write an ISO 639 code, for example language:pt or language:pt,gl",
                        ))
                    })
                    .collect::<Result<_, _>>()?,
            ),
            _ => Predicate::Regex(Box::new(
                regex::RegexBuilder::new(value)
                    .size_limit(LARGEST_REGEX)
                    .build()
                    .map_err(|error| {
                        fault(
                            format!("the regular expression does not parse: {}", reason(&error)),
                            "see the syntax of the regex crate",
                        )
                    })?,
            )),
        })
    }
}

fn single(mut nodes: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    if nodes.len() == 1 {
        nodes.remove(0)
    } else {
        many(nodes)
    }
}

/// Builds the predicate `prefix`. Scheme and host are converted to lower case. A prefix that is only a host gets a `/`,
/// because `example.org` would otherwise match `example.org.elsewhere.net` too.
fn prefix(value: &str) -> Predicate {
    let host_start = value.find("://").map_or(0, |at| at + 3);
    let host_end = value[host_start..].find('/').map(|at| host_start + at);
    let mut text = value[..host_end.unwrap_or(value.len())].to_ascii_lowercase();
    text.push_str(host_end.map_or("/", |end| &value[end..]));
    if host_start > 0 {
        Predicate::Prefix(text)
    } else {
        Predicate::BarePrefix(text)
    }
}

/// The last line of the error text of the regex crate, which names the error.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error:").trim().to_owned()
}

/// A hint for a name that is not the name of a predicate.
fn nearest(name: &str) -> String {
    match NAMES.iter().min_by_key(|known| distance(known, name)) {
        Some(known) if distance(known, name) <= 2 => format!("did you mean `{known}`?"),
        _ => format!("the fields are {}", NAMES.join(", ")),
    }
}

/// Edit distance of two words.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other_letter) in other.bytes().enumerate() {
            let change = diagonal + usize::from(letter != other_letter);
            diagonal = row[column + 1];
            row[column + 1] = change.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
