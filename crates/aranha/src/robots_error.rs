//! The error of a robots.txt file that could not be fetched, for `aranha why` and `aranha export mirror`.

use aranha_frontier::RobotsFile;

/// Why robots.txt could not be fetched: the HTTP status, or the error that the crawl stored instead of the file.
pub(crate) fn unreachable(file: &RobotsFile) -> String {
    match (file.status, String::from_utf8_lossy(&file.body).trim()) {
        (0, "") => "unreachable".to_owned(),
        (0, reason) => format!("unreachable ({reason})"),
        (status, _) => format!("unreachable (status {status})"),
    }
}
