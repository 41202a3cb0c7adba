//! An address where connection attempts time out, for `Hazard::Void`.
//!
//! A socket listens and never accepts. Connections of the lab itself fill its queue, so the kernel drops all further
//! connection attempts, as a firewall does.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// Maximum number of connections that fill the queue.
const MAX_CONNECTIONS: usize = 16;
/// A connection attempt that takes longer was dropped. On loopback, successful ones take less than a millisecond.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

/// A listening socket with a full queue.
#[derive(Debug)]
pub(crate) struct Vacuum {
    _listener: TcpListener,
    _connections: Vec<TcpStream>,
}

impl Vacuum {
    pub(crate) async fn open(address: Ipv4Addr, port: u16) -> io::Result<Vacuum> {
        let address = SocketAddr::new(address.into(), port);
        let listener = bind_shared(address)?.listen(1)?;
        let mut connections = Vec::new();
        while connections.len() < MAX_CONNECTIONS
            && let Ok(connection) = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await
        {
            connections.push(connection?);
        }
        Ok(Vacuum {
            _listener: listener,
            _connections: connections,
        })
    }
}

/// A bound socket whose port may also be bound for all addresses. The kernel prefers the socket with the exact address.
pub(crate) fn bind_shared(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}
