//! Excel files since 2007, by the crate `calamine`, which reads more of them than `office_oxide` (docs/decisions/0017-documents.md).
//! What it cannot read is given to `office_oxide`.

use std::fmt::Write;
use std::io::Cursor;

use calamine::{DataRef, Reader, SheetType, Xlsb, Xlsx};

use super::office;
use crate::document::Fault;
use crate::kind::OLE_MAGIC;
use crate::{Document, Kind, Limits};

/// Reads a workbook.
pub(super) fn read(body: &[u8], limits: &Limits) -> Result<Document, Fault> {
    if !body.starts_with(OLE_MAGIC)
        && let Some(text) = workbook(body, limits.max_text)
    {
        let mut document = Document {
            text,
            ..Document::default()
        };
        office::add_title_and_links(body, limits, &mut document);
        return Ok(document);
    }
    office::read(Kind::Xlsx, body, limits)
}

/// The text of a workbook in XML or binary form. `None` if it has no readable sheet.
fn workbook(body: &[u8], max_text: usize) -> Option<String> {
    let mut text = String::new();
    let mut is_readable = false;
    if let Ok(mut workbook) = Xlsx::new(Cursor::new(body)) {
        for name in sheet_names(&workbook) {
            let Ok(mut cells) = workbook.worksheet_cells_reader(&name) else {
                continue;
            };
            is_readable = true;
            let mut sheet = SheetText::new(&name, &mut text);
            while sheet.text.len() <= max_text
                && let Ok(Some(cell)) = cells.next_cell()
            {
                sheet.add(cell.get_position().0, cell.get_value());
            }
            sheet.text.push('\n');
        }
    } else if let Ok(mut workbook) = Xlsb::new(Cursor::new(body)) {
        for name in sheet_names(&workbook) {
            let Ok(mut cells) = workbook.worksheet_cells_reader(&name) else {
                continue;
            };
            is_readable = true;
            let mut sheet = SheetText::new(&name, &mut text);
            while sheet.text.len() <= max_text
                && let Ok(Some(cell)) = cells.next_cell()
            {
                sheet.add(cell.get_position().0, cell.get_value());
            }
            sheet.text.push('\n');
        }
    }
    is_readable.then_some(text)
}

fn sheet_names<'a>(workbook: &impl Reader<Cursor<&'a [u8]>>) -> Vec<String> {
    let sheets = workbook.sheets_metadata().iter();
    let sheets = sheets.filter(|sheet| sheet.typ == SheetType::WorkSheet);
    sheets.map(|sheet| sheet.name.clone()).collect()
}

/// Writes the cells of a sheet, one line per row.
struct SheetText<'a> {
    text: &'a mut String,
    row: u32,
}

impl<'a> SheetText<'a> {
    fn new(name: &str, text: &'a mut String) -> SheetText<'a> {
        text.push_str(name);
        SheetText {
            text,
            row: u32::MAX,
        }
    }

    fn add(&mut self, row: u32, value: &DataRef<'_>) {
        if matches!(value, DataRef::Empty) {
            return;
        }
        self.text.push(if row == self.row { '\t' } else { '\n' });
        self.row = row;
        // Writing to a string cannot fail.
        let _ = match value {
            DataRef::Int(value) => write!(self.text, "{value}"),
            DataRef::Float(value) => write!(self.text, "{value}"),
            DataRef::Bool(value) => write!(self.text, "{}", if *value { "TRUE" } else { "FALSE" }),
            DataRef::String(value) | DataRef::DateTimeIso(value) | DataRef::DurationIso(value) => {
                write!(self.text, "{value}")
            }
            DataRef::SharedString(value) => write!(self.text, "{value}"),
            DataRef::Error(value) => write!(self.text, "{value}"),
            DataRef::DateTime(value) => {
                let (year, month, day, hour, minute, second, _) = value.to_ymd_hms_milli();
                match (value.is_duration(), hour, minute, second) {
                    (true, ..) => write!(self.text, "{}", value.as_f64()),
                    (_, 0, 0, 0) => write!(self.text, "{year}-{month:02}-{day:02}"),
                    _ => write!(
                        self.text,
                        "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
                    ),
                }
            }
            DataRef::Empty => Ok(()),
        };
    }
}
