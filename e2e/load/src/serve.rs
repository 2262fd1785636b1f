//! The server: it answers each request with who it is.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::{Errno, read, write};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, sendto, sockopt,
};

use crate::poll::{Poll, Until};

/// Port of requests.
pub const PORT: u16 = 8080;
/// Port that is open while the server is ready, for probes.
pub const READY_PORT: u16 = 8081;
/// Port on which the server takes instructions.
pub const CONTROL_PORT: u16 = 8082;

/// Asks who answers.
pub const ASK: u8 = b'?';
/// Comes back as it was sent.
pub const ECHO: u8 = b'.';
/// Opens and closes the port of probes.
pub const READY: u8 = b'+';
/// See [`READY`].
pub const UNREADY: u8 = b'-';

const BACKLOG: i32 = 4096;
const REQUESTS: u64 = 0;
const CONTROL: u64 = 1;
const PROBES: u64 = 2;
const DATAGRAMS: u64 = 3;
const FIRST_CONNECTION: u64 = 4;

/// Serves until the process ends.
pub fn run() -> Result<()> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let name = format!("{}/{}\n", variable("CLUSTER"), variable("HOSTNAME"));
    let mut server = Server::start(name.into_bytes())?;
    loop {
        server.turn()?;
    }
}

struct Connection {
    socket: OwnedFd,
    is_control: bool,
}

struct Server {
    name: Vec<u8>,
    poll: Poll,
    requests: OwnedFd,
    datagrams: Datagrams,
    control: OwnedFd,
    probes: Option<OwnedFd>,
    connections: BTreeMap<u64, Connection>,
    next: u64,
}

impl Server {
    fn start(name: Vec<u8>) -> Result<Self> {
        let poll = Poll::new()?;
        let (requests, control) = (listen(PORT)?, listen(CONTROL_PORT)?);
        let datagrams = Datagrams::open(PORT)?;
        poll.add(&requests, REQUESTS, Until::Readable)?;
        poll.add(&datagrams.socket, DATAGRAMS, Until::Readable)?;
        poll.add(&control, CONTROL, Until::Readable)?;
        let connections = BTreeMap::new();
        let mut server = Self {
            name,
            poll,
            requests,
            datagrams,
            control,
            probes: None,
            connections,
            next: FIRST_CONNECTION,
        };
        server.set_ready(true)?;
        Ok(server)
    }

    fn turn(&mut self) -> Result<()> {
        for number in self.poll.wait(Duration::from_mins(1))? {
            match number {
                REQUESTS => self.accept(false)?,
                CONTROL => self.accept(true)?,
                PROBES => self.probed(),
                DATAGRAMS => self.datagrams.answer(&self.name),
                _ => self.read(number)?,
            }
        }
        Ok(())
    }

    fn accept(&mut self, is_control: bool) -> Result<()> {
        let listener = if is_control { &self.control } else { &self.requests };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        while let Ok(socket) = rustix::net::accept_with(listener, flags) {
            self.poll.add(&socket, self.next, Until::Readable)?;
            self.connections.insert(self.next, Connection { socket, is_control });
            self.next += 1;
        }
        Ok(())
    }

    /// Probes connect, and send nothing.
    fn probed(&self) {
        let Some(probes) = &self.probes else { return };
        while rustix::net::accept_with(probes, SocketFlags::CLOEXEC).is_ok() {}
    }

    fn read(&mut self, number: u64) -> Result<()> {
        let Some(connection) = self.connections.get(&number) else { return Ok(()) };
        let mut buffer = [0; 64];
        let received = match read(&connection.socket, &mut buffer) {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Ok(0) | Err(_) => {
                self.connections.remove(&number);
                return Ok(());
            }
            Ok(count) => &buffer[..count],
        };
        if connection.is_control {
            return received.iter().try_for_each(|byte| self.obey(number, *byte));
        }
        for byte in received {
            match *byte {
                ASK => answer(&connection.socket, &self.name),
                ECHO => answer(&connection.socket, &[ECHO]),
                _ => {}
            }
        }
        Ok(())
    }

    fn obey(&mut self, number: u64, byte: u8) -> Result<()> {
        match byte {
            READY => self.set_ready(true)?,
            UNREADY => self.set_ready(false)?,
            _ => return Ok(()),
        }
        if let Some(connection) = self.connections.get(&number) {
            answer(&connection.socket, &[byte]);
        }
        Ok(())
    }

    fn set_ready(&mut self, ready: bool) -> Result<()> {
        if !ready {
            self.probes = None;
        } else if self.probes.is_none() {
            let probes = listen(READY_PORT)?;
            self.poll.add(&probes, PROBES, Until::Readable)?;
            self.probes = Some(probes);
        }
        Ok(())
    }
}

/// Where datagrams arrive.
pub(crate) struct Datagrams {
    socket: OwnedFd,
}

impl Datagrams {
    pub(crate) fn open(port: u16) -> Result<Self> {
        Ok(Self { socket: bind(SocketType::DGRAM, port)? })
    }

    /// The port, where it was left to the kernel.
    #[cfg(test)]
    pub(crate) fn port(&self) -> Result<u16> {
        Ok(SocketAddrV6::try_from(rustix::net::getsockname(&self.socket)?)?.port())
    }

    /// Answers each that asks. One whose answer cannot be sent is lost, as on any network.
    pub(crate) fn answer(&self, name: &[u8]) {
        let (mut buffer, flags) = ([0; 64], SendFlags::empty());
        while let Ok((count, _, from)) = recvfrom(&self.socket, &mut buffer, RecvFlags::empty()) {
            if let (&[ASK], Some(from)) = (&buffer[..count], from) {
                let _ = sendto(&self.socket, name, flags, &from);
            }
        }
    }
}

/// What does not fit into the buffers of a socket is lost with it: no client sends that much.
fn answer(socket: impl AsFd, text: &[u8]) {
    let _ = write(socket, text);
}

fn listen(port: u16) -> Result<OwnedFd> {
    let socket = bind(SocketType::STREAM, port)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A socket on all addresses of both families.
fn bind(kind: SocketType, port: u16) -> Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET6, kind, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_ipv6_v6only(&socket, false)?;
    let address = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0);
    rustix::net::bind(&socket, &address).with_context(|| format!("bind port {port}"))?;
    Ok(socket)
}
