//! Input of commands: arguments, the lines of stdin, or the lines of a file.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use crate::error::CommandError;
use crate::output::message;

/// An input with its position (`argument 2`, `line 17`), which is used in error messages.
pub(crate) struct Item {
    pub(crate) place: String,
    pub(crate) text: String,
}

/// The arguments or, if there are none, the lines of stdin. Blank lines are skipped, and invalid UTF-8 is replaced.
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
        message("reading from the terminal, one input per line; Ctrl-D ends the input");
    }
    let lines = BufReader::new(io::stdin().lock()).split(b'\n').enumerate();
    Box::new(lines.filter_map(|(index, line)| item(index, line).transpose()))
}

/// The arguments, each with its position.
pub(crate) fn named(arguments: &[String]) -> impl Iterator<Item = (String, String)> {
    let item = |(index, text): (usize, &String)| (format!("argument {}", index + 1), text.clone());
    arguments.iter().enumerate().map(item)
}

/// The lines of a file (`-` is stdin) with their positions. Blank lines and lines that begin with `#` are skipped.
pub(crate) fn lines(path: &Path) -> Result<Vec<(String, String)>, CommandError> {
    let failed = |error| {
        CommandError::usage(format!("cannot read {}: {error}", path.display()))
            .hint("name a text file with one URL per line, or `-` for stdin")
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
        .hint("give the input as arguments or through a pipe")
}

fn item(index: usize, line: io::Result<Vec<u8>>) -> Result<Option<Item>, CommandError> {
    let line = line.map_err(|error| unreadable(&error))?;
    let text = String::from_utf8_lossy(&line).trim().to_owned();
    Ok((!text.is_empty()).then(|| Item {
        place: format!("line {}", index + 1),
        text,
    }))
}
