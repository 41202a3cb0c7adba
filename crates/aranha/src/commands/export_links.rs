//! `aranha export links`: the links of all stored pages, or the number of references to each URL (F13; `CoBWeb` 3).
//!
//! The links are read from the newest stored response of every page in the archive. So crawls do not need to keep
//! links.

use std::collections::HashSet;
use std::io;

use aranha_frontier::{PageEntry, PageFilter};
use aranha_page::LinkKind;
use aranha_volume::ArchiveReader;
use clap::Args;
use serde_json::json;

use crate::collection_reader::CollectionReader;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::output::{Output, counted, message};
use crate::page_history::{ResponseKind, kind};
use crate::progress_line::ProgressLine;
use crate::shared_args::{CollectionArg, JsonLinesArg, SiteArg};
use crate::stored_page::{self, LinkBases};
use crate::url_counter::UrlCounter;

const EXAMPLES: &str = "\
Examples:
  aranha export links -c example > links.tsv
  aranha export links -c example --json | jq -r .to
  aranha export links -c example --references | sort -rn | head

Columns, separated by tabs: URL of the page, kind of link, URL of the target. With --references: number of pages that \
link to the URL, and the URL. Links that are not valid http or https URLs are left out.";

/// Write the links of all stored pages, or count the references to each URL
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Links {
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    site: SiteArg,
    /// Print every URL that pages link to, with the number of pages that link to it
    #[arg(long)]
    references: bool,
    /// Include images, style sheets, scripts and other embedded resources
    #[arg(long)]
    assets: bool,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(arguments: &Links) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.collection)?;
    let site = collection.site(&arguments.site)?;
    let reader = ArchiveReader::open(&collection.folder)
        .map_err(|error| CommandError::failed(error.to_string()))?;
    let mut export = LinkExport {
        arguments,
        collection: &collection,
        reader,
        output: Output::new(),
        counter: UrlCounter::default(),
        unreadable: 0,
    };
    let filter = PageFilter {
        site: site.as_deref(),
        ..PageFilter::default()
    };
    let (mut pages, mut failure) = (0, None);
    let mut line = ProgressLine::new();
    collection.view.pages(&filter, |entry| {
        pages += 1;
        line.show(|| format!("{} pages read", grouped(pages)));
        failure = export.add_page(&entry).err();
        failure.is_none()
    })?;
    drop(line);
    match failure {
        Some(error) => Err(error),
        None => export.finish(),
    }
}

struct LinkExport<'a> {
    arguments: &'a Links,
    collection: &'a CollectionReader,
    reader: ArchiveReader,
    output: Output,
    /// The references to each URL. Used only with `--references`.
    counter: UrlCounter,
    /// Number of pages whose stored response could not be read.
    unreadable: u64,
}

impl LinkExport<'_> {
    /// Writes or counts the links of a page, if its newest response holds content.
    fn add_page(&mut self, entry: &PageEntry<'_>) -> Result<(), CommandError> {
        let content = matches!(
            kind(entry.record),
            ResponseKind::Content | ResponseKind::NotModified
        );
        let Some(location) = entry.record.location.filter(|_| content) else {
            return Ok(());
        };
        let Ok(stored) = self.reader.read_resolved(location) else {
            self.unreadable += 1;
            return Ok(());
        };
        if stored.forgotten().is_some() {
            return Ok(());
        }
        let mut options = self.collection.config.page.clone();
        options.assets |= self.arguments.assets;
        let page = stored_page::parse(&stored, &options);
        let from = entry.url();
        let Ok(url) = self.collection.literal.canon(&from) else {
            return Ok(());
        };
        let bases = LinkBases::new(self.collection, &url, &page, entry.record);
        let mut seen = HashSet::new();
        for link in &page.links {
            let Ok(to) = self.collection.canon.join(bases.of(link), &link.href) else {
                continue;
            };
            if !self.arguments.references {
                self.write_link(&from, link.kind, link.nofollow, to.as_str())?;
            } else if seen.insert(to.key()) {
                self.counter.add(to.into_string()).map_err(cannot_count)?;
            }
        }
        Ok(())
    }

    fn write_link(
        &mut self,
        from: &str,
        kind: LinkKind,
        nofollow: bool,
        to: &str,
    ) -> Result<(), CommandError> {
        if self.arguments.output.json {
            let link = json!({"from": from, "kind": kind.name(), "nofollow": nofollow, "to": to});
            self.output.json(&link)
        } else {
            self.output.line(format_args!("{from}\t{kind}\t{to}"))
        }
    }

    /// Writes the counts and the rest of the output.
    fn finish(mut self) -> Result<ExitStatus, CommandError> {
        let json = self.arguments.output.json;
        self.counter.finish(|url, references| {
            let written = if json {
                self.output
                    .json(&json!({"url": url, "references": references}))
            } else {
                self.output.line(format_args!("{references}\t{url}"))
            };
            written.map_err(ExportError::Output)
        })?;
        self.output.finish()?;
        if self.unreadable > 0 {
            message(format_args!(
                "warning: {} could not be read from the archive\nhint: `aranha check -c {}` lists every fault",
                counted(self.unreadable, "page"),
                self.collection.folder.display()
            ));
        }
        Ok(ExitStatus::Done)
    }
}

/// An error while the counts are written.
enum ExportError {
    Output(CommandError),
    Count(io::Error),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Count(error)
    }
}

impl From<ExportError> for CommandError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Output(error) => error,
            ExportError::Count(error) => cannot_count(error),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn cannot_count(error: io::Error) -> CommandError {
    CommandError::failed(format!("cannot write a temporary file: {error}"))
        .hint("set TMPDIR to a folder with enough space")
}
