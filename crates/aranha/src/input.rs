//! What a line-by-line command works on: its arguments, or else the lines of stdin.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use crate::error::CommandError;
use crate::output::message;

/// One thing to work on, and where it stands for complaints: `argument 2`, `line 17`.
pub(crate) struct Item {
    pub(crate) place: String,
    pub(crate) text: String,
}

/// The arguments if there are any, else stdin: one item a line, blank lines left out, bytes that are no UTF-8
/// replaced.
pub(crate) fn items(
    arguments: Vec<String>,
) -> Box<dyn Iterator<Item = Result<Item, CommandError>>> {
    if !arguments.is_empty() {
        let item = |(index, text)| {
            Ok(Item {
                place: format!("argument {}", index + 1),
                text,
            })
        };
        return Box::new(arguments.into_iter().enumerate().map(item));
    }
    if io::stdin().is_terminal() {
        message("reading from the keyboard, one a line; Ctrl-D ends");
    }
    let lines = BufReader::new(io::stdin().lock()).split(b'\n').enumerate();
    Box::new(lines.filter_map(|(index, line)| item(index, line).transpose()))
}

/// Words of the command line with their place.
pub(crate) fn named(arguments: &[String]) -> impl Iterator<Item = (String, String)> {
    let place = |(index, text): (usize, &String)| (format!("argument {}", index + 1), text.clone());
    arguments.iter().enumerate().map(place)
}

/// The lines of a file, `-` for stdin, with their places; blank lines and lines that begin with `#` are left out.
pub(crate) fn lines(path: &Path) -> Result<Vec<(String, String)>, CommandError> {
    let failed = |error| {
        CommandError::usage(format!("cannot read {}: {error}", path.display()))
            .hint("one URL a line; `-` reads from stdin")
    };
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        bytes
    } else {
        std::fs::read(path).map_err(failed)?
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            lines.push((
                format!("{}, line {}", path.display(), index + 1),
                line.to_owned(),
            ));
        }
    }
    Ok(lines)
}

fn unreadable(error: &io::Error) -> CommandError {
    CommandError::failed(format!("cannot read stdin: {error}"))
        .hint("give what to work on as arguments, or pipe it in")
}

fn item(index: usize, line: io::Result<Vec<u8>>) -> Result<Option<Item>, CommandError> {
    let line = line.map_err(|error| unreadable(&error))?;
    let text = String::from_utf8_lossy(&line).trim().to_owned();
    Ok((!text.is_empty()).then(|| Item {
        place: format!("line {}", index + 1),
        text,
    }))
}
