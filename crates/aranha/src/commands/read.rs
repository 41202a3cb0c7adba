//! `aranha read`: the text of files. Also the worker processes that read documents for all commands.

use std::fs;
use std::path::{Path, PathBuf};

use aranha_page::{Input, Options, Page};
use aranha_read::Kind;
use clap::Args;
use serde_json::json;

use crate::documents::{DocumentReading, Documents};
use crate::error::{CommandError, ExitStatus};
use crate::output::{Output, message};
use crate::shared_args::JsonLinesArg;
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha read report.pdf
  aranha read --json *.docx *.xls | jq -r '.file, .title'
  aranha read --type rtf letter.doc

Reads PDF, DOC, XLS, PPT, DOCX, XLSX, PPTX, ODT, ODS, ODP, RTF, EPUB and PostScript in processes of their own, and HTML, \
XML and plain text. If a file has no text, the reason goes to stderr and the exit status is 5. With --json, the reason is part of the object.";

/// Print the text of files: documents, pages and plain text
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files to read
    #[arg(value_name = "FILE", required_unless_present = "worker")]
    files: Vec<PathBuf>,
    /// Type of the documents [default: found by content and name]
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<Kind>,
    #[command(flatten)]
    output: JsonLinesArg,
    /// Read documents for another process: frames on stdin and stdout
    #[arg(long, hide = true, conflicts_with_all = ["files", "kind", "json"])]
    worker: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    if arguments.worker {
        let is_served = aranha_read::run_worker() == std::process::ExitCode::SUCCESS;
        return Ok(if is_served {
            ExitStatus::Done
        } else {
            ExitStatus::Failed
        });
    }
    let options = Options {
        identify_language: true,
        ..Options::default()
    };
    let documents = Documents::new(1, options);
    let mut output = Output::new();
    let mut status = ExitStatus::Done;
    for file in &arguments.files {
        let name = file.display().to_string();
        let body = fs::read(file).map_err(|error| {
            CommandError::failed(format!("cannot read `{name}`: {error}"))
                .hint("name files that exist and that you are allowed to read")
        })?;
        let url = name_as_url(file);
        let input = Input {
            url: &url,
            content_type: None,
            body: &body,
            content_language: None,
        };
        let (page, document) = documents.read(&input, arguments.kind);
        if page.text.is_empty() {
            status = ExitStatus::Nothing;
        }
        if arguments.output.json {
            print_json(&name, &page, document.as_ref(), &mut output)?;
        } else if page.text.is_empty() {
            let reason = document.map_or_else(
                || format!("it is {}", page.media_type),
                |document| document.reason(),
            );
            message(format_args!(
                "{}: no text: {}",
                Escaped(&name),
                Escaped(&reason)
            ));
        } else {
            for line in page.text.lines() {
                output.line(Escaped(line))?;
            }
        }
    }
    output.finish()?;
    Ok(status)
}

/// A URL with the name of the file, whose extension helps to find the media type.
fn name_as_url(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("file:///{}", name.replace(['?', '#'], "_"))
}

fn print_json(
    name: &str,
    page: &Page,
    document: Option<&DocumentReading>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let remarks = document.map(|document| document.remarks.clone());
    output.json(&json!({
        "file": name, "type": page.media_type.as_str(),
        "document": document.map(DocumentReading::json),
        "title": page.title, "language_found": page.language_found.map(|found| found.code),
        "words": page.words, "text": page.text,
        "links": page.links.iter().map(|link| &link.href).collect::<Vec<_>>(),
        "remarks": remarks.unwrap_or_default(),
    }))
}
