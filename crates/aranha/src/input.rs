//! What a line-by-line command works on: its arguments, or else the lines of stdin.

use std::io::{self, BufRead, BufReader, IsTerminal};

use crate::complaint::Complaint;

/// One thing to work on, and where it stands for complaints: `argument 2`, `line 17`.
pub(crate) struct Item {
    pub(crate) place: String,
    pub(crate) text: String,
}

/// The arguments if there are any, else stdin: one item a line, blank lines left out, bytes that are no UTF-8
/// replaced.
pub(crate) fn items(arguments: Vec<String>) -> Box<dyn Iterator<Item = Result<Item, Complaint>>> {
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
        eprintln!("reading from the keyboard, one a line; Ctrl-D ends");
    }
    let lines = BufReader::new(io::stdin().lock()).split(b'\n').enumerate();
    Box::new(lines.filter_map(|(index, line)| item(index, line).transpose()))
}

fn item(index: usize, line: io::Result<Vec<u8>>) -> Result<Option<Item>, Complaint> {
    let line = line.map_err(|error| Complaint::failed(format!("cannot read stdin: {error}")))?;
    let text = String::from_utf8_lossy(&line).trim().to_owned();
    Ok((!text.is_empty()).then(|| Item {
        place: format!("line {}", index + 1),
        text,
    }))
}
