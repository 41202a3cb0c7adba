//! The kept-alive connections of one visit (N2).

use super::connect::Connection;
use crate::FetchRequest;

/// The kept-alive connections of one visit: one to an origin at one address and one to a proxy. A visit owns one session
/// per parallel request. A request to another origin, address or proxy closes the old connection and opens a new one.
#[derive(Debug, Default)]
pub struct FetchSession {
    direct: Option<Connection>,
    proxied: Option<Connection>,
}

impl FetchSession {
    /// A session without a connection. The first fetch opens one.
    pub fn new() -> FetchSession {
        FetchSession::default()
    }

    /// Closes the connections, for example before a long pause.
    pub fn close(&mut self) {
        *self = FetchSession::default();
    }

    /// Whether a connection is kept for the next request.
    pub fn is_open(&self) -> bool {
        self.direct.is_some() || self.proxied.is_some()
    }

    /// Removes the connection that can serve this request from the session. The caller returns it with
    /// [`keep`](Self::keep) after a complete exchange, so that a cancelled one never leaves half a response behind.
    pub(crate) fn take(&mut self, request: &FetchRequest<'_>) -> Option<Connection> {
        let mut connection = self.slot(request.proxy.is_some()).take()?;
        (connection.can_serve(request) && connection.is_idle()).then_some(connection)
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
