//! Characters of fonts whose encodings differ from ISO 8859-1: those of TeX, of groff, and the standard encoding.

/// Characters of TeX's text fonts (encoding OT1) that differ from ASCII.
pub(super) fn tex_character(byte: u8) -> Option<&'static str> {
    Some(match byte {
        0x0B => "ff",
        0x0C => "fi",
        0x0D => "fl",
        0x0E => "ffi",
        0x0F => "ffl",
        0x10 => "\u{131}",
        0x19 => "\u{df}",
        0x1A => "\u{e6}",
        0x1B => "\u{153}",
        0x1C => "\u{f8}",
        0x22 | 0x5C => "\"",
        0x27 => "\u{2019}",
        0x60 => "\u{2018}",
        0x7B => "\u{2013}",
        0x7C => "\u{2014}",
        // Accents stand before their letters, and symbols have other fonts.
        0..=0x1F | 0x5E | 0x5F | 0x7D..=0x7F => "",
        _ => return None,
    })
}

/// Characters of groff's encoding that differ from ISO 8859-1.
pub(super) fn groff_character(byte: u8) -> Option<&'static str> {
    Some(match byte {
        0o10 => "'",
        0o11 => "\u{20ac}",
        0o0 => "^",
        0o1 => "~",
        0o47 => "\u{2019}",
        0o140 => "\u{2018}",
        0o203 => "\u{2022}",
        0o211 => "\u{2013}",
        0o212 => "\u{2014}",
        0o213 => "ff",
        0o214 => "fi",
        0o215 => "fl",
        0o216 => "ffi",
        0o217 => "ffl",
        0o220 => "\u{131}",
        0o231 => "\u{201C}",
        0o232 => "\u{201D}",
        0o233 => "\u{153}",
        0o255 => "\u{2212}",
        _ => return None,
    })
}

/// Characters of the standard encoding of fonts that differ from ISO 8859-1.
pub(super) fn standard_character(byte: u8) -> Option<&'static str> {
    Some(match byte {
        0o47 | 0o251 => "\u{2019}",
        0o140 => "\u{2018}",
        0o252 => "\u{201C}",
        0o272 => "\u{201D}",
        0o256 => "fi",
        0o257 => "fl",
        0o261 => "\u{2013}",
        0o320 => "\u{2014}",
        0o267 => "\u{2022}",
        _ => return None,
    })
}
