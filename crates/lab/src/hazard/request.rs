//! One request to a hazard, with functions that answer it.
//!
//! [`HazardRequest::answer`] sends a correct response; [`HazardRequest::raw`] sends arbitrary bytes. Both write through
//! the [`Exchange`], which writes the log entry.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use crate::chance::Chance;
use crate::exchange::Exchange;
use crate::html::escape;
use crate::language::LANGUAGES;
use crate::layout::last_number;
use crate::request::RequestHead;
use crate::request_counters::RequestCounters;
use crate::web::Web;

const HAZARD: u64 = 60;
/// Bytes per write of a generated body.
const PIECE: usize = 64 * 1024;

/// One request to a hazard.
pub(crate) struct HazardRequest<'a> {
    pub(crate) exchange: Exchange<'a>,
    pub(crate) head: &'a RequestHead,
    pub(crate) web: &'a Web,
    pub(crate) counters: &'a RequestCounters,
}

impl HazardRequest<'_> {
    /// Path and query.
    pub(super) fn target(&self) -> &str {
        &self.head.target
    }

    pub(super) fn path(&self) -> &str {
        let target = self.target();
        target.split(['?', ';']).next().unwrap_or(target)
    }

    /// The last number in the target.
    pub(super) fn number(&self) -> Option<usize> {
        last_number(self.target())
    }

    /// `http://calendar.lab:PORT`.
    pub(super) fn origin(&self) -> String {
        format!("http://{}:{}", self.head.host, self.web.port())
    }

    /// Random numbers that depend only on the seed of the plan, the host and the target.
    pub(super) fn chance(&self) -> Chance {
        self.chance_at(self.target())
    }

    /// Random numbers that depend only on the seed of the plan, the host and `place`.
    pub(super) fn chance_at(&self, place: &str) -> Chance {
        let bytes = self.head.host.bytes().chain(place.bytes());
        let place: Vec<u64> = bytes.map(u64::from).collect();
        Chance::of(self.web.plan().seed ^ HAZARD, &place)
    }

    /// Counts this request. Returns the number of earlier requests for the same host and target.
    pub(super) fn count_request(&self) -> u64 {
        let key = format!("{}{}", self.head.host, self.target());
        self.counters.increment(&key)
    }

    /// Sends a correct page.
    pub(super) async fn page(&mut self, body: &str) -> io::Result<()> {
        self.answer(200, "", body).await
    }

    /// Sends a correct page with these links, which are usually the paths of the hazard's variants.
    pub(super) async fn index(&mut self, title: &str, links: &[&str]) -> io::Result<()> {
        let mut body = format!("<title>{title}</title><h1>{title}</h1>\n");
        for link in links {
            body.push_str("<p><a href=\"");
            escape(&mut body, link);
            let _ = writeln!(body, "\">variant</a></p>");
        }
        self.page(&body).await
    }

    /// Answers a request for `/to/N` with a redirect to target N. Answers other requests with a page that links to
    /// every target and to every `/to/N`.
    pub(super) async fn link_and_redirect_to(
        &mut self,
        title: &str,
        status: u16,
        targets: &[&str],
    ) -> io::Result<()> {
        if let Some(number) = self.number() {
            return self.redirect(status, targets[number % targets.len()]).await;
        }
        let redirects: Vec<String> = (0..targets.len()).map(|n| format!("/to/{n}")).collect();
        let redirects = redirects.iter().map(String::as_str);
        let links: Vec<&str> = targets.iter().copied().chain(redirects).collect();
        self.index(title, &links).await
    }

    /// Sends a correct response with additional header lines. Content-Type is HTML unless `header` sets it.
    pub(super) async fn answer(
        &mut self,
        status: u16,
        header: &str,
        body: impl AsRef<[u8]>,
    ) -> io::Result<()> {
        let body = body.as_ref();
        let header = format!("{header}Content-Length: {}\r\n", body.len());
        self.start(status, &header).await?;
        self.send(body).await?;
        self.exchange.complete();
        Ok(())
    }

    /// Sends a redirect.
    pub(super) async fn redirect(&mut self, status: u16, location: &str) -> io::Result<()> {
        let header = format!("Location: {location}\r\n");
        self.answer(status, &header, "moved").await
    }

    /// Sends a status line and headers. The caller sends the body with [`HazardRequest::send`]. Unless `header` has a
    /// `Content-Length`, the body ends when the connection closes.
    pub(super) async fn start(&mut self, status: u16, header: &str) -> io::Result<()> {
        let reason = crate::wire::reason(status);
        let kind = if header.contains("Content-Type") {
            ""
        } else {
            "Content-Type: text/html; charset=utf-8\r\n"
        };
        let text = format!("HTTP/1.1 {status} {reason}\r\n{kind}{header}Connection: close\r\n\r\n");
        self.exchange.status(status);
        self.send(text.as_bytes()).await
    }

    /// Sends exactly these bytes. `status` is written to the log.
    pub(super) async fn raw(&mut self, status: u16, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.exchange.status(status);
        self.send(bytes.as_ref()).await?;
        self.exchange.complete();
        Ok(())
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.exchange.send(bytes).await
    }

    /// Sends `piece` `times` times, in large writes.
    pub(super) async fn repeat(&mut self, piece: &[u8], times: usize) -> io::Result<()> {
        let block = piece.repeat((PIECE / piece.len()).clamp(1, times.max(1)));
        let mut left = piece.len() * times;
        while left > 0 {
            let now = left.min(block.len());
            self.send(&block[..now]).await?;
            left -= now;
        }
        Ok(())
    }

    /// Sends `piece` again and again, at about 16 MB/s at most, until the client disconnects.
    pub(super) async fn forever(&mut self, piece: &[u8]) -> io::Result<()> {
        loop {
            self.repeat(piece, (16 * 1024 / piece.len()).max(1)).await?;
            self.exchange.wait(Duration::from_millis(1)).await?;
        }
    }

    /// Generated text with a title and `paragraphs` paragraphs.
    pub(super) fn prose(chance: &mut Chance, paragraphs: usize) -> String {
        let language = &LANGUAGES[chance.below(LANGUAGES.len())];
        let title = language.title(chance);
        let mut out = format!("<title>{title}</title>\n<h1>{title}</h1>\n");
        for _ in 0..paragraphs {
            out.push_str("<p>");
            language.sentences(&mut out, chance);
            out.push_str("</p>\n");
        }
        out
    }
}

/// Answers as a small correct site does. Used by hazards whose fault is in DNS, TLS or robots.txt.
pub(super) async fn ordinary(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let mut body = HazardRequest::prose(&mut request.chance(), 3);
    match request.path() {
        "/" => body.push_str("<a href=/one.html>one</a> <a href=/two.html>two</a>"),
        "/one.html" | "/two.html" => body.push_str("<a href=/>home</a>"),
        _ => return request.answer(404, "", "<title>Not Found</title>").await,
    }
    request.page(&body).await
}
