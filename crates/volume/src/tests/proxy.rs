//! A TCP proxy that damages or cuts what it forwards.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

/// What the proxy does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Changes this byte of each connection to the server.
    ChangeRequest(usize),
    /// Closes each connection after this number of bytes from the server.
    CutAnswer(usize),
}

/// Starts a proxy in front of a server on this port. Returns its own port.
pub(crate) fn start(server: u16, fault: Fault) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else {
                continue;
            };
            let (from_client, to_server) = (client.try_clone().unwrap(), upstream.try_clone());
            let change = match fault {
                Fault::ChangeRequest(position) => Some(position),
                Fault::CutAnswer(_) => None,
            };
            let most = match fault {
                Fault::CutAnswer(most) => most,
                Fault::ChangeRequest(_) => usize::MAX,
            };
            std::thread::spawn(move || {
                forward(from_client, to_server.unwrap(), change, usize::MAX);
            });
            std::thread::spawn(move || forward(upstream, client, None, most));
        }
    });
    port
}

/// Copies up to `most` bytes, then closes both connections.
fn forward(mut from: TcpStream, mut to: TcpStream, change: Option<usize>, most: usize) {
    let mut buffer = [0; 4096];
    let mut position = 0;
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let count = count.min(most - position);
        if let Some(place) = change.and_then(|change| change.checked_sub(position))
            && place < count
        {
            buffer[place] ^= 1;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
        position += count;
        if position >= most {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
