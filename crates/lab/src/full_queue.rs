//! An address where connection attempts time out, for `Hazard::Void`.
//!
//! A socket listens but never accepts. The lab fills the socket's accept queue with its own connections. The kernel
//! then drops all further connection attempts without an answer, as some firewalls do.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// Maximum number of connections that the lab makes to fill the queue.
const MAX_CONNECTIONS: usize = 16;
/// After this time, a connection attempt counts as dropped. On loopback, a successful attempt takes less than a
/// millisecond.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

/// A listening socket whose accept queue is full.
#[derive(Debug)]
pub(crate) struct FullQueue {
    _listener: TcpListener,
    _connections: Vec<TcpStream>,
}

impl FullQueue {
    pub(crate) async fn open(address: Ipv4Addr, port: u16) -> io::Result<FullQueue> {
        let address = SocketAddr::new(address.into(), port);
        let listener = bind_shared(address)?.listen(1)?;
        let mut connections = Vec::new();
        while connections.len() < MAX_CONNECTIONS
            && let Ok(connection) = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await
        {
            connections.push(connection?);
        }
        Ok(FullQueue {
            _listener: listener,
            _connections: connections,
        })
    }
}

/// Binds a socket to one address, even if another socket listens on the same port of all addresses. For a connection to
/// this address, the kernel prefers the socket with the exact address.
pub(crate) fn bind_shared(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}
