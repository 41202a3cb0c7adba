//! The kept-alive connections of one visit (N2).

use super::connect::Connection;
use crate::FetchRequest;

/// One connection's life: keep-alive to one origin at one address. A visit owns one per parallel request; asking
/// for another origin or address through it closes the old connection and opens a new one. The connection to a proxy
/// is kept beside it, and never taken for the other.
#[derive(Debug, Default)]
pub struct FetchSession {
    direct: Option<Connection>,
    proxied: Option<Connection>,
}

impl FetchSession {
    /// A session without a connection: the first fetch opens it.
    pub fn new() -> FetchSession {
        FetchSession::default()
    }

    /// Closes the kept connections, if there are any: before a long pause.
    pub fn close(&mut self) {
        *self = FetchSession::default();
    }

    /// Whether a connection is kept for the next request.
    pub fn is_open(&self) -> bool {
        self.direct.is_some() || self.proxied.is_some()
    }

    /// The kept connection if it can serve this request. It is out of the session until given back, so that a
    /// cancelled exchange never leaves half an answer for the next one.
    pub(crate) fn take(&mut self, request: &FetchRequest<'_>) -> Option<Connection> {
        let mut connection = self.slot(request.proxy.is_some()).take()?;
        (connection.serves(request) && connection.is_quiet()).then_some(connection)
    }

    pub(crate) fn keep(&mut self, connection: Connection) {
        let slot = self.slot(connection.is_proxied());
        *slot = Some(connection);
    }

    fn slot(&mut self, proxied: bool) -> &mut Option<Connection> {
        if proxied {
            &mut self.proxied
        } else {
            &mut self.direct
        }
    }
}
