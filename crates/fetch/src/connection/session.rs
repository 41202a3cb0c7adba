//! The kept-alive connections of one visit (N2).

use std::net::IpAddr;

use super::connect::Connection;
use crate::{FetchRequest, proxy::Via};

/// The kept-alive connections of one visit. A session holds at most two: one to a server, directly or through a proxy,
/// and one to the cache of a proxy. A connection that the next request cannot use is replaced. A visit owns one session
/// for each request that it sends in parallel.
#[derive(Debug, Default)]
pub struct FetchSession {
    server: Option<Connection>,
    cache: Option<Connection>,
}

impl FetchSession {
    /// A session without connections. The first fetch opens one.
    pub fn new() -> FetchSession {
        FetchSession::default()
    }

    /// Closes the connections, for example before a long pause.
    pub fn close(&mut self) {
        *self = FetchSession::default();
    }

    /// Whether a connection is kept for the next request.
    pub fn is_open(&self) -> bool {
        self.server.is_some() || self.cache.is_some()
    }

    /// The address of the web server of the kept connection, if it is known.
    pub fn address(&self) -> Option<IpAddr> {
        self.server.as_ref().and_then(Connection::address)
    }

    /// Removes the kept connection from the session. Returns the connection if it can serve this request, and closes it
    /// otherwise. After a complete exchange the caller puts the connection back with [`keep`](Self::keep). A cancelled
    /// exchange may leave unread bytes on its connection, which is therefore never reused.
    pub(crate) fn take(&mut self, request: &FetchRequest<'_>, via: Via<'_>) -> Option<Connection> {
        let mut connection = self.slot(request.cache.is_some()).take()?;
        (connection.can_serve(request, via) && connection.is_idle()).then_some(connection)
    }

    pub(crate) fn keep(&mut self, connection: Connection) {
        let slot = self.slot(connection.is_to_cache());
        *slot = Some(connection);
    }

    fn slot(&mut self, cache: bool) -> &mut Option<Connection> {
        if cache {
            &mut self.cache
        } else {
            &mut self.server
        }
    }
}
