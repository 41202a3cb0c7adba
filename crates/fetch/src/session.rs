//! The kept-alive connection of one visit (N2).

use std::net::IpAddr;

use aranha_url::CanonUrl;

use crate::connect::Connection;

/// One connection's life: keep-alive to one origin at one address. A visit owns one per parallel request; asking
/// for another origin or address through it closes the old connection and opens a new one.
#[derive(Debug, Default)]
pub struct Session {
    idle: Option<Connection>,
}

impl Session {
    /// A session without a connection: the first fetch opens it.
    pub fn new() -> Session {
        Session::default()
    }

    /// Closes the kept connection, if there is one: before a long pause.
    pub fn close(&mut self) {
        self.idle = None;
    }

    /// Whether a connection is kept for the next request.
    pub fn is_open(&self) -> bool {
        self.idle.is_some()
    }

    /// The kept connection if it can serve this request. It is out of the session until given back, so that a
    /// cancelled exchange never leaves half an answer for the next one.
    pub(crate) fn take(&mut self, url: &CanonUrl, address: IpAddr) -> Option<Connection> {
        let mut connection = self.idle.take()?;
        (connection.serves(url, address) && connection.is_quiet()).then_some(connection)
    }

    pub(crate) fn keep(&mut self, connection: Connection) {
        self.idle = Some(connection);
    }
}
