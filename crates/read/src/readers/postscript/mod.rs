//! `PostScript` (Adobe `PostScript` Language Reference, third edition).
//!
//! A `PostScript` file is a program, and nothing short of running it gives its text for certain. This reader does not run
//! it. It collects the strings that the pages show, and finds the spaces between them from the movements of the
//! programs that write most of the files on the web: dvips (TeX), groff, and the converters from PDF of poppler and
//! cairo. In files of other programs, every shown string is taken for a word or a line. The files of Ghostscript
//! (`ps2write`) hold their text in compressed streams, which are not read.

mod characters;
mod scanner;

use self::characters::{groff_character, standard_character, tex_character};
use self::scanner::{Scanner, Token};
use super::damaged;
use crate::document::Fault;
use crate::{Document, Limits};

/// Maximum number of operands that are kept for an operator.
const MAX_OPERANDS: usize = 32;
/// Horizontal movements from this width on are spaces, in points. Kerning is narrower, and spaces are wider: TeX
/// shrinks them to 2.2 points in a font of 10 points.
const MIN_SPACE: f64 = 1.2;
/// Movements in PDF from this width on are spaces.
const MIN_PDF_SPACE: f64 = -180.0;
/// Vertical movements from this height on begin a line, in points. Exponents and indices are nearer.
const MIN_LINE: f64 = 6.0;

/// Reads a file.
pub(super) fn read(body: &[u8], limits: &Limits) -> Result<Document, Fault> {
    let program = without_preview(body);
    let dialect = Dialect::of(program);
    let mut page = PageText {
        dialect,
        points: match dialect {
            Dialect::Dvips => 72.0 / dvips_resolution(program),
            Dialect::Groff | Dialect::Pdf | Dialect::Other => 1.0,
        },
        latin1: memchr::memmem::find(program, b"ISOLatin1Encoding").is_some(),
        text: String::new(),
        gap: 0.0,
        last_dvips_move: 0.0,
        y: None,
    };
    let mut title = None;
    let mut operands: Vec<Operand> = Vec::new();
    let mut scanner = Scanner {
        rest: program,
        depth: 0,
    };
    // Strings before the first page are names of fonts and the like. A file need not have these comments.
    let has_prolog = memchr::memmem::find(program, b"%%EndProlog").is_some();
    let mut is_skipping = has_prolog;
    while let Some(token) = scanner.next() {
        match token {
            Token::Comment(comment) => {
                if let Some(rest) = comment.strip_prefix(b"%%Title:") {
                    title.get_or_insert_with(|| decode_title(rest));
                } else if let Some(end) = end_of_embedded(comment) {
                    scanner.skip_to(end);
                } else if is_start_of_resource(comment) {
                    is_skipping = true;
                } else if is_end_of_resource(comment) {
                    is_skipping = false;
                } else if comment.starts_with(b"%%Page:") {
                    // An embedded picture or font may have unbalanced braces.
                    scanner.depth = 0;
                    is_skipping = false;
                    page.new_line();
                } else if comment.starts_with(b"%%Trailer") {
                    is_skipping = true;
                }
            }
            Token::Number(number) => operands.push(Operand::Number(number)),
            Token::String(string) => operands.push(Operand::String(string)),
            Token::Name(name) => {
                if !is_skipping {
                    page.execute(name, &operands);
                }
                operands.clear();
            }
        }
        if operands.len() > MAX_OPERANDS {
            operands.clear();
        }
        if page.text.len() > limits.max_text {
            break;
        }
    }
    let is_empty = page.text.trim().is_empty();
    if is_empty && !program.starts_with(b"%!") {
        return Err(damaged("it is not a PostScript program"));
    }
    if is_empty && has_pages(program) && page.y.is_none() {
        return Err(damaged("the program ends before its first page"));
    }
    Ok(Document {
        title,
        text: page.text,
        ..Document::default()
    })
}

/// The program that wrote a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Dvips,
    Groff,
    /// Poppler or cairo, whose operators are those of PDF.
    Pdf,
    Other,
}

impl Dialect {
    fn of(program: &[u8]) -> Dialect {
        let head = &program[..program.len().min(4096)];
        let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
        if has(b"%%Creator: dvips") || has(b"%DVIPS") {
            Dialect::Dvips
        } else if has(b"%%Creator: groff") {
            Dialect::Groff
        } else if has(b"procset xpdf") || has(b"%%Creator: cairo") {
            Dialect::Pdf
        } else {
            Dialect::Other
        }
    }
}

/// Dots per inch of a file of dvips.
fn dvips_resolution(program: &[u8]) -> f64 {
    let head = &program[..program.len().min(64 << 10)];
    let number = |before: &[u8]| {
        let start = memchr::memmem::find(head, before)? + before.len();
        let digits = head[start..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0.0, |number, byte| number * 10.0 + f64::from(byte - b'0'));
        (number > 0.0).then_some(number)
    };
    number(b"dpi=")
        .or_else(|| number(b"%DVIPSParameters: dpi="))
        .unwrap_or(600.0)
}

/// The program in an EPS file that begins with a binary header (Encapsulated `PostScript` File Format 3.0, section 5.2).
fn without_preview(body: &[u8]) -> &[u8] {
    if !body.starts_with(b"\xC5\xD0\xD3\xC6") {
        return body.strip_prefix(b"\x04").unwrap_or(body);
    }
    let number = |at: usize| {
        let bytes: [u8; 4] = body.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes) as usize)
    };
    let program = number(4).zip(number(8));
    let program = program.and_then(|(start, length)| body.get(start..)?.get(..length));
    program.unwrap_or(body)
}

/// Whether the comments at the beginning say that there are pages.
fn has_pages(program: &[u8]) -> bool {
    let head = &program[..program.len().min(4096)];
    memchr::memmem::find(head, b"%%Pages: ").is_some()
        && memchr::memmem::find(program, b"%%Trailer").is_none()
}

/// The comment that ends an embedded file or font, whose data may look like strings that do not end.
fn end_of_embedded(comment: &[u8]) -> Option<&'static [u8]> {
    let pairs: [(&[u8], &[u8]); 4] = [
        (b"%%BeginDocument", b"%%EndDocument"),
        (b"%%BeginData", b"%%EndData"),
        (b"%%BeginBinary", b"%%EndBinary"),
        (b"%%BeginFont", b"%%EndFont"),
    ];
    let pair = pairs.iter().find(|(start, _)| comment.starts_with(start));
    pair.map(|(_, end)| *end)
}

fn is_start_of_resource(comment: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [
        b"%%BeginProlog",
        b"%%BeginSetup",
        b"%%BeginResource",
        b"%%BeginProcSet",
        b"%%BeginDefaults",
    ];
    starts.iter().any(|start| comment.starts_with(start))
}

fn is_end_of_resource(comment: &[u8]) -> bool {
    let ends: [&[u8]; 5] = [
        b"%%EndProlog",
        b"%%EndSetup",
        b"%%EndResource",
        b"%%EndProcSet",
        b"%%EndDefaults",
    ];
    ends.iter().any(|end| comment.starts_with(end))
}

fn decode_title(bytes: &[u8]) -> String {
    let text = encoding_rs::WINDOWS_1252.decode(bytes).0;
    text.trim().trim_matches(['(', ')']).to_owned()
}

/// A value before an operator.
enum Operand {
    Number(f64),
    String(Vec<u8>),
}

/// The text of the pages, and the movements since the last character.
struct PageText {
    dialect: Dialect,
    /// Points per unit of a movement.
    points: f64,
    /// Whether the fonts of a file of another program use ISO 8859-1.
    latin1: bool,
    text: String,
    /// Horizontal movement since the last character, in points.
    gap: f64,
    /// The movement that dvips repeats, in its units.
    last_dvips_move: f64,
    /// Vertical position, in points.
    y: Option<f64>,
}

impl PageText {
    fn execute(&mut self, name: &[u8], operands: &[Operand]) {
        match self.dialect {
            Dialect::Dvips => self.execute_dvips(name, operands),
            Dialect::Groff => self.execute_groff(name, operands),
            Dialect::Pdf => self.execute_pdf(name, operands),
            Dialect::Other => self.execute_other(name, operands),
        }
    }

    /// The operators of `tex.pro`. Those from `a` to `y` show a string, move, or do both.
    fn execute_dvips(&mut self, name: &[u8], operands: &[Operand]) {
        let [letter] = name else {
            if name == b"eop" || name == b"bop" {
                self.new_line();
            }
            return;
        };
        // The operands may follow the selection of a font, or others that belong to no operator here.
        let string = strings(operands).last();
        let [_, last] = last_numbers(operands);
        let show = |page: &mut PageText| {
            if let Some(string) = string {
                page.show(string, 0.0);
            }
        };
        match letter {
            b'a' => self.move_to(last),
            b'b' => {
                show(self);
                self.last_dvips_move = last;
                self.move_by(last, 0.0);
            }
            b'c'..=b'k' => {
                show(self);
                self.last_dvips_move += f64::from(*letter) - f64::from(b'g');
                self.move_by(self.last_dvips_move, 0.0);
            }
            // `p` moves by nothing.
            b'l'..=b't' => {
                show(self);
                self.move_by(f64::from(*letter) - f64::from(b'p'), 0.0);
            }
            b'w' => self.move_by(last, 0.0),
            b'x' => self.move_by(0.0, last),
            b'y' => {
                show(self);
                self.move_to(last);
            }
            _ => {}
        }
    }

    /// The operators of the prologue of grops: groups of four that do not move, move horizontally, vertically, both
    /// ways, and to a position. In a group, the string is shown as it is, with wider spaces, with spaced characters,
    /// and with both.
    fn execute_groff(&mut self, name: &[u8], operands: &[Operand]) {
        let [letter @ b'A'..=b'T'] = name else {
            return;
        };
        let Some(at) = operands
            .iter()
            .position(|operand| matches!(operand, Operand::String(_)))
        else {
            return;
        };
        let (before, after) = operands.split_at(at);
        let [x, y] = last_numbers(after);
        match (letter - b'A') / 4 {
            1 => self.move_by(y, 0.0),
            2 => self.move_by(0.0, y),
            3 => self.move_by(x, y),
            4 => self.move_to(y),
            _ => {}
        }
        let [wider_spaces, spacing] = match ((letter - b'A') % 4, last_numbers(before)) {
            (0, _) => [0.0, 0.0],
            (1, [_, wider]) => [wider, 0.0],
            (2, [_, spacing]) => [0.0, spacing],
            (_, both) => both,
        };
        // A kerned word may contain spaces of nearly no width.
        let has_spaces = wider_spaces > -MIN_SPACE;
        for string in strings(after) {
            if has_spaces {
                self.show(string, spacing);
            } else {
                let word: Vec<u8> = string
                    .iter()
                    .copied()
                    .filter(|byte| *byte != b' ')
                    .collect();
                self.show(&word, spacing);
            }
        }
    }

    /// The text operators of PDF (PDF 1.7, 9.4). `TJm` of poppler moves between two strings.
    fn execute_pdf(&mut self, name: &[u8], operands: &[Operand]) {
        let [_, last] = last_numbers(operands);
        match name {
            b"Tj" | b"TJ" | b"TJm" => {
                for operand in operands {
                    match operand {
                        Operand::String(string) => self.show(string, 0.0),
                        // In thousandths of the font size, to the left.
                        Operand::Number(number) if name != b"Tj" && *number < MIN_PDF_SPACE => {
                            self.gap = MIN_SPACE;
                        }
                        Operand::Number(_) => {}
                    }
                }
            }
            b"Td" | b"TD" if last == 0.0 => self.gap = MIN_SPACE,
            b"Td" | b"TD" | b"T*" | b"BT" => self.new_line(),
            b"Tm" => self.move_to(last),
            _ => {}
        }
    }

    /// Operators of unknown programs. Those that show a string have it among their operands.
    fn execute_other(&mut self, name: &[u8], operands: &[Operand]) {
        let is_known: [&[u8]; 18] = [
            b"def",
            b"findfont",
            b"run",
            b"eq",
            b"ne",
            b"print",
            b"search",
            b"cvn",
            b"load",
            b"put",
            b"get",
            b"cvx",
            b"length",
            b"filter",
            b"selectfont",
            b"==",
            b"=",
            b"pdfmark",
        ];
        if is_known.contains(&name) {
            return;
        }
        if matches!(name, b"moveto" | b"m" | b"M" | b"mt" | b"xy" | b"MT") {
            self.move_to(last_numbers(operands)[1]);
        }
        for string in strings(operands) {
            self.gap = MIN_SPACE;
            self.show(string, 0.0);
        }
    }

    fn move_by(&mut self, x: f64, y: f64) {
        self.gap += x * self.points;
        if y != 0.0 {
            self.set_y(self.y.unwrap_or_default() + y * self.points);
        }
    }

    /// Moves to a position. The horizontal distance is not known, so it counts as a space.
    fn move_to(&mut self, y: f64) {
        self.gap = self.gap.max(MIN_SPACE);
        self.set_y(y * self.points);
    }

    fn set_y(&mut self, y: f64) {
        if self.y.is_none_or(|before| (before - y).abs() >= MIN_LINE) {
            self.new_line();
        }
        self.y = Some(y);
    }

    fn new_line(&mut self) {
        self.gap = 0.0;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Shows a string, with `spacing` after each character.
    fn show(&mut self, string: &[u8], spacing: f64) {
        for byte in string {
            if self.gap >= MIN_SPACE && !self.text.ends_with([' ', '\n']) && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.gap = spacing * self.points;
            self.push(*byte);
        }
    }

    fn push(&mut self, byte: u8) {
        let special = match self.dialect {
            Dialect::Dvips => tex_character(byte),
            Dialect::Groff => groff_character(byte),
            Dialect::Pdf => None,
            Dialect::Other if self.latin1 => None,
            Dialect::Other => standard_character(byte),
        };
        match special {
            Some(text) => self.text.push_str(text),
            None if byte < b' ' => self.text.push(' '),
            None => {
                let text = encoding_rs::WINDOWS_1252
                    .decode_without_bom_handling(&[byte])
                    .0
                    .into_owned();
                self.text.push_str(&text);
            }
        }
    }
}

fn strings(operands: &[Operand]) -> impl Iterator<Item = &[u8]> {
    operands.iter().filter_map(|operand| match operand {
        Operand::String(string) => Some(string.as_slice()),
        Operand::Number(_) => None,
    })
}

/// The last two numbers; 0 where there is none.
fn last_numbers(operands: &[Operand]) -> [f64; 2] {
    let mut numbers = operands.iter().rev().filter_map(|operand| match operand {
        Operand::Number(number) => Some(*number),
        Operand::String(_) => None,
    });
    let last = numbers.next().unwrap_or_default();
    [numbers.next().unwrap_or_default(), last]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, text: &str) {
        let document = read(program.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(document.text.trim_end(), text);
    }

    #[test]
    fn groff() {
        let head = "%!PS-Adobe-3.0\n%%Creator: groff version 1.22.4\n%%EndProlog\n";
        check(
            &format!(
                "{head}F0 .05(The quick bro)108 124.8 R .05\n(wn fox jumps o)-.25 F -.15(ve)-.15 G 2.55(rt).15 G .05(he lazy dog.)-2.55 F(for)108 136.8 Q(gets the of)-.18 E(\\214ce)-.25 E"
            ),
            "The quick brown fox jumps over the lazy dog.\nforgets the office",
        );
        check(
            &format!("{head}(costly)72 100 Q 5.447(.F)-.65 G -2.15 -.25(iv e)-5.447 H(of)3.197 E"),
            "costly. Five of",
        );
    }

    #[test]
    fn dvips() {
        let head =
            "%!PS-Adobe-2.0\n%%Creator: dvips(k) 5.86\n%DVIPSParameters: dpi=600\n%%EndProlog\n";
        check(
            &format!(
                "{head}1 0 bop Fa 100 200 a(F)-8 b(rom)27 b(the)h(o\\016ce)g(w)n(e)100 300 y(second)p 500 300 a(line)p eop"
            ),
            "From the office we\nsecond line",
        );
    }

    #[test]
    fn converters_from_pdf() {
        let head =
            "%!PS-Adobe-3.0\n%%BeginResource: procset xpdf 3.00 0\n%%EndResource\n%%EndProlog\n";
        check(
            &format!(
                "{head}[1 0 0 1 72 700] Tm\n0 0 Td\n(ver) 12.3 Tj\n10 TJm\n(sion) 20 Tj\n-300 TJm\n(two) 9 Tj\n0 -12 Td\n[(li) -5 (ne)] TJ"
            ),
            "version two\nline",
        );
    }

    #[test]
    fn other_programs() {
        check(
            "%!PS-Adobe-3.0\n%%Title: (A title)\n/f (not shown) def\n/s { (nor this) show } def\n10 700 moveto (Hello \\(world\\)) show (again) show 10 680 moveto <4142> show\n",
            "Hello (world) again\nAB",
        );
    }

    #[test]
    fn embedded_files_are_skipped() {
        let picture = "%%BeginDocument: a.eps\n%%BeginData: 9\n((({{\n%%EndData\n(no) show\n%%Trailer\n%%EndDocument\n";
        check(&format!("%!PS\n(a) show\n{picture}(b) show"), "a b");
    }

    #[test]
    fn damaged_programs() {
        check("%!PS\n(never closed", "");
        check("%!PS\n(a) show } } (b) show", "a b");
        assert!(
            read(
                b"\xC5\xD0\xD3\xC6\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
                &Limits::default()
            )
            .is_err()
        );
    }
}
