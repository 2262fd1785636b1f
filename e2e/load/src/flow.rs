//! Datagrams from one port: the server that gets one answers with its name.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::report::Window;
use crate::serve::ASK;

/// A datagram without an answer is lost by then.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two datagrams.
const PERIOD: Duration = Duration::from_millis(100);

/// Sends datagrams to `target` until a file is there. Prints a window for each, and goes on where one is lost.
pub fn run(target: SocketAddr, until: &Path) -> Result<()> {
    let socket = open(target)?;
    while !until.exists() {
        let begun = Instant::now();
        let mut window = Window::begin();
        match ask(&socket) {
            Ok(who) => window.answered(who),
            Err(error) => window.failed(cause(&error)),
        }
        window.print()?;
        std::thread::sleep(PERIOD.saturating_sub(begun.elapsed()));
    }
    Window { last: true, ..Window::begin() }.print()
}

/// The port stays the same for as long as the socket is there.
fn open(target: SocketAddr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).context("take a port")?;
    socket.connect(target).context("connect")?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

fn ask(socket: &UdpSocket) -> io::Result<String> {
    socket.send(&[ASK])?;
    let mut buffer = [0; 256];
    let count = socket.recv(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..count]).trim_end().to_owned())
}

fn cause(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "lost",
        ErrorKind::ConnectionRefused => "refused",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::serve::Datagrams;

    #[test]
    fn datagrams_of_one_port_are_answered_until_nothing_listens() {
        let server = Datagrams::open(0).unwrap();
        let port = server.port().unwrap();
        let flow = open((Ipv4Addr::LOCALHOST, port).into()).unwrap();
        let asked = thread::spawn(move || {
            let answers = [ask(&flow).unwrap(), ask(&flow).unwrap()];
            (answers, flow)
        });
        while !asked.is_finished() {
            server.answer(b"east/web-1\n");
        }
        let (answers, flow) = asked.join().unwrap();
        assert_eq!(answers, ["east/web-1", "east/web-1"]);
        drop(server);
        assert_eq!(ask(&flow).map_err(|error| cause(&error)), Err("refused"));
    }
}
