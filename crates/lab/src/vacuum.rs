//! An address where connections are neither made nor refused, for `Hazard::Void`.
//!
//! A socket that listens and never accepts, with its queue full: the kernel drops what comes after, as a firewall
//! does. The connections that fill the queue are our own and are held as long as this is.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// Connections tried until one is not made.
const QUEUE: usize = 16;
/// On loopback a connection that is made is made at once.
const PATIENCE: Duration = Duration::from_millis(100);

/// The full queue; connections to the address are made again when it is dropped.
#[derive(Debug)]
pub(crate) struct Vacuum {
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Vacuum {
    pub(crate) async fn open(address: Ipv4Addr, port: u16) -> io::Result<Vacuum> {
        let address = SocketAddr::new(address.into(), port);
        let listener = shared(address)?.listen(1)?;
        let mut waiting = Vec::new();
        while waiting.len() < QUEUE
            && let Ok(made) = timeout(PATIENCE, TcpStream::connect(address)).await
        {
            waiting.push(made?);
        }
        Ok(Vacuum {
            _listener: listener,
            _waiting: waiting,
        })
    }
}

/// A bound socket that may lie beside one for all addresses on the same port; the kernel prefers the more exact one.
pub(crate) fn shared(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}
