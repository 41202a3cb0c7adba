//! Compares the title and the links of `<a>` and `<area>` with html5ever, an independent parser that builds the tree of
//! the standard.
//!
//! The pages of `tests/corpus/page` are always compared. With `ARANHA_PAGES=DIRECTORY`, the pages of a directory tree
//! are compared too (at most `ARANHA_PAGES_LIMIT`, evenly sampled).
//!
//! This crate builds no tree, so it may find links that a tree drops (inside `<select>` or `<noframes>`, after a
//! `<noscript>`). This is accepted only for the pages in [`MAY_FIND_MORE`]. A missed link is always a failure.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use aranha_page::{Input, LinkKind, Options, read};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{
    ElemName, ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink,
};
use html5ever::{
    Attribute, LocalName, Namespace, ParseOpts, QualName, local_name, ns, parse_document,
};

/// Pages with faults or fallback content in which this crate finds more links than html5ever. When a
/// `noscript` ends, this crate also ends the elements that were left open inside it, as a browser with scripts does.
/// html5ever runs without scripts here and leaves those elements open.
const MAY_FIND_MORE: &[&str] = &["frames.html", "noscript.html"];

/// Collects hrefs and titles. Only the element names of the tree are kept.
#[derive(Default)]
struct LinkSink {
    names: RefCell<Vec<Rc<QualName>>>,
    hrefs: RefCell<BTreeSet<String>>,
    titles: RefCell<Vec<(usize, String)>>,
}

/// An element name that outlives the borrow of `LinkSink::names`.
#[derive(Debug)]
struct OwnedName(Rc<QualName>);

impl ElemName for OwnedName {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl LinkSink {
    fn new_node(&self, name: QualName) -> usize {
        let mut names = self.names.borrow_mut();
        names.push(Rc::new(name));
        names.len() - 1
    }

    fn unnamed_node(&self) -> usize {
        self.new_node(QualName::new(None, ns!(), local_name!("")))
    }
}

impl TreeSink for LinkSink {
    type Handle = usize;
    type Output = (BTreeSet<String>, Option<String>);
    type ElemName<'a> = OwnedName;

    fn finish(self) -> Self::Output {
        let title = self.titles.into_inner().into_iter().next();
        let fold = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        (
            self.hrefs.into_inner(),
            title
                .map(|(_, text)| fold(text))
                .filter(|text| !text.is_empty()),
        )
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> usize {
        if self.names.borrow().is_empty() {
            self.unnamed_node();
        }
        0
    }

    fn elem_name<'a>(&'a self, target: &'a usize) -> OwnedName {
        OwnedName(Rc::clone(&self.names.borrow()[*target]))
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> usize {
        let link = matches!(&*name.local, "a" | "area");
        for attribute in attributes {
            if link && &*attribute.name.local == "href" {
                self.hrefs.borrow_mut().insert(clean(&attribute.value));
            }
        }
        let title = name.local == local_name!("title") && name.ns == ns!(html);
        let node = self.new_node(name);
        if title {
            self.titles.borrow_mut().push((node, String::new()));
        }
        node
    }

    fn create_comment(&self, _: StrTendril) -> usize {
        self.unnamed_node()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> usize {
        self.unnamed_node()
    }

    fn append(&self, parent: &usize, child: NodeOrText<usize>) {
        if let NodeOrText::AppendText(text) = child {
            for (node, title) in self.titles.borrow_mut().iter_mut() {
                if node == parent {
                    title.push_str(&text);
                }
            }
        }
    }

    fn append_based_on_parent_node(&self, _: &usize, _: &usize, _: NodeOrText<usize>) {}

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &usize) -> usize {
        *target
    }

    fn same_node(&self, one: &usize, other: &usize) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, _: &usize, _: NodeOrText<usize>) {}

    fn add_attrs_if_missing(&self, _: &usize, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, _: &usize) {}

    fn reparent_children(&self, _: &usize, _: &usize) {}
}

/// Cleans an href and removes its fragment. This is a second implementation, independent of the crate.
fn clean(href: &str) -> String {
    let href = href.trim_matches(|character: char| character <= ' ');
    let href: String = href
        .chars()
        .filter(|character| !"\t\n\r".contains(*character))
        .collect();
    href.split('#').next().unwrap_or_default().to_owned()
}

/// Compares one page and returns the number of its links.
fn compare(path: &Path, may_find_more: bool) -> usize {
    let bytes = std::fs::read(path).expect("readable file");
    let Ok(html) = String::from_utf8(bytes) else {
        return 0;
    };
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let (mut expected, title) = parse_document(LinkSink::default(), options).one(html.as_str());
    expected.retain(|href| !href.to_ascii_lowercase().starts_with("javascript:"));

    let input = Input {
        url: "http://site.example/",
        content_type: Some("text/html; charset=utf-8"),
        body: html.as_bytes(),
        content_language: None,
    };
    let options = Options {
        max_links: usize::MAX,
        ..Options::default()
    };
    let page = read(&input, &options);
    let found: BTreeSet<String> = page
        .links
        .iter()
        .filter(|link| matches!(link.kind, LinkKind::Anchor | LinkKind::Area))
        .map(|link| clean(&link.href))
        .collect();

    let missed: Vec<_> = expected.difference(&found).collect();
    let extra: Vec<_> = found.difference(&expected).collect();
    assert!(missed.is_empty(), "{}: missed {missed:?}", path.display());
    assert!(
        may_find_more || extra.is_empty(),
        "{}: extra {extra:?}",
        path.display()
    );
    assert_eq!(page.title, title, "{}", path.display());
    expected.len()
}

#[test]
fn corpus_pages_as_html5ever() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/page");
    let mut links = 0;
    for path in html_files(&corpus) {
        let may_find_more = MAY_FIND_MORE.iter().any(|name| path.ends_with(name));
        links += compare(&path, may_find_more);
    }
    assert!(links > 30, "only {links} links compared");
}

#[test]
fn pages_of_a_directory_as_html5ever() {
    let Some(directory) = std::env::var_os("ARANHA_PAGES") else {
        return;
    };
    let limit = std::env::var("ARANHA_PAGES_LIMIT")
        .ok()
        .and_then(|text| text.parse().ok());
    let files = html_files(Path::new(&directory));
    let step = files.len().div_ceil(limit.unwrap_or(usize::MAX)).max(1);
    let sampled: Vec<_> = files.iter().step_by(step).collect();
    let links: usize = sampled.iter().map(|path| compare(path, false)).sum();
    println!("{} pages, {links} distinct links, all equal", sampled.len());
}

/// The HTML files of a directory tree, sorted.
fn html_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "html")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
