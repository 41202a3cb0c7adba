//! Examines the words in a filter that are not named tests. Recognises entries of a black list, and gives hints for
//! words that users of other programs type, such as `/docs/` or `*.zip`.

use crate::blacklist::Blacklist;

/// File name extensions of words such as `index.html`. A word with such an extension is not read as a host.
#[rustfmt::skip]
const FILE_EXTENSIONS: &[&str] = &[
    "html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi", "pdf", "ps", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt",
    "txt", "md", "csv", "xml", "json", "rss", "css", "js", "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "mp3", "mp4", "avi", "mov",
    "webm", "ogg", "wav", "zip", "gz", "tgz", "bz2", "xz", "7z", "rar", "tar", "exe", "iso", "dmg", "deb", "rpm", "jar", "apk",
];

/// Whether the word is read as an entry of a black list: a URL, an address, a host and port, or a domain with a dot.
pub(super) fn is_entry(word: &str) -> bool {
    let port = word.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    word.contains("://")
        || port
        || word == "localhost"
        || Blacklist::is_address_entry(word)
        || (word.contains('.') && !word.contains(['/', ':']))
}

/// For a word that is not an entry, a hint that shows the filter which the user probably means. `None` if there is no
/// hint for the word.
pub(super) fn of_word(word: &str) -> Option<String> {
    let is_pattern = word.starts_with('^')
        || word.ends_with('$')
        || word.contains(['\\', '[', '|', '+'])
        || word.contains(".*");
    if is_pattern
        && !Blacklist::is_address_entry(word)
        && !word.contains("://")
        && !word.starts_with('[')
    {
        return Some(format!("write regex:{word} for a regular expression"));
    }
    if word.starts_with('/') {
        return Some(match word.contains('*') {
            true => format!("write path:{word}"),
            false if word.ends_with('/') => format!("write path:{word}*"),
            false => format!("write path:{word}, or path:{word}/* for all that is below"),
        });
    }
    if let Some(parameter) = word.strip_prefix('?') {
        let star = if parameter.contains(['*', '=']) {
            ""
        } else {
            "=*"
        };
        return Some(format!("write query:{parameter}{star}"));
    }
    let bare = word.strip_prefix("*.").or_else(|| word.strip_prefix('.'));
    if let Some(name) = bare.filter(|name| is_plain(name)) {
        return Some(format!(
            "write ext:{name} for files, or domain:{name} for hosts"
        ));
    }
    if FILE_EXTENSIONS.contains(&word.to_ascii_lowercase().as_str()) {
        return Some(format!("write ext:{word}"));
    }
    let extension = word
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    if extension.is_some_and(|name| FILE_EXTENSIONS.contains(&name.as_str()))
        && !word.contains(['/', ':'])
    {
        return Some(format!(
            "write path:*/{word} for a file, or domain:{word} for a host"
        ));
    }
    if word.contains('*') && !word.contains("://") && !word.starts_with("*.") {
        return Some(format!(
            "write path:/{word} for paths, or host:{word} for hosts"
        ));
    }
    let (host, path) = word.split_once('/')?;
    let is_host = host.contains('.') && !Blacklist::is_address_entry(word) && !word.contains(':');
    is_host.then(|| match path {
        "" => format!("write prefix:{host}"),
        _ => format!("write prefix:{word}"),
    })
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
