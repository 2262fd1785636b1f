//! The client: a new connection for each request.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::poll::{Poll, Until};
use crate::report::{WINDOW, Window, now};
use crate::serve::ASK;

/// A connection that takes longer has failed. The kernel sends a lost packet again after one second.
const PATIENCE: Duration = Duration::from_secs(3);
const SLOW: Duration = Duration::from_millis(500);
/// Connections that are open at most: above, requests fail.
const MOST_OPEN: usize = 8192;

/// What is called, and how.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Address of a Service.
    pub target: SocketAddrV4,
    /// Addresses of this machine to call from, in turn.
    pub sources: Vec<Ipv4Addr>,
    /// Connections in a second.
    pub rate: u32,
    /// After how many connections it ends; never by itself if 0.
    pub count: u64,
    /// It ends when this file is there.
    pub until: PathBuf,
}

/// Calls, and prints windows until the end.
pub fn run(calls: &Calls) -> Result<()> {
    let mut client = Client::new(calls)?;
    while !client.is_done() {
        client.turn()?;
    }
    client.window.last = true;
    client.window.print()
}

struct Connection {
    socket: OwnedFd,
    begun: Instant,
    text: Vec<u8>,
}

struct Client<'a> {
    calls: &'a Calls,
    poll: Poll,
    connections: BTreeMap<u64, Connection>,
    /// In the order in which they began.
    waiting: VecDeque<(Instant, u64)>,
    begun: Instant,
    opened: u64,
    window: Window,
    is_ending: bool,
}

impl<'a> Client<'a> {
    fn new(calls: &'a Calls) -> Result<Self> {
        Ok(Self {
            calls,
            poll: Poll::new()?,
            connections: BTreeMap::new(),
            waiting: VecDeque::new(),
            begun: Instant::now(),
            opened: 0,
            window: Window::begin(),
            is_ending: false,
        })
    }

    fn is_done(&self) -> bool {
        self.is_ending && self.connections.is_empty()
    }

    fn turn(&mut self) -> Result<()> {
        self.open_due();
        for number in self.poll.wait(Duration::from_millis(1))? {
            self.advance(number);
        }
        self.expire();
        if now() >= self.window.at + u64::try_from(WINDOW.as_millis())? {
            std::mem::replace(&mut self.window, Window::begin()).print()?;
            let counted = self.calls.count > 0 && self.opened >= self.calls.count;
            self.is_ending = self.is_ending || counted || self.calls.until.exists();
        }
        Ok(())
    }

    /// Opens what is due by now: the rate does not depend on the answers.
    fn open_due(&mut self) {
        if self.is_ending {
            return;
        }
        let due = self.begun.elapsed().as_millis() * u128::from(self.calls.rate) / 1000;
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        let due = if self.calls.count > 0 { due.min(self.calls.count) } else { due };
        while self.opened < due {
            let number = self.opened;
            self.opened += 1;
            if self.connections.len() >= MOST_OPEN {
                self.window.failed("too many are open");
            } else if let Err(error) = self.open(number) {
                self.window.failed(cause(error));
            }
        }
    }

    fn open(&mut self, number: u64) -> Result<(), Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // Closing it resets the connection.
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        let count = self.calls.sources.len().max(1) as u64;
        let source = usize::try_from(number % count).unwrap_or(0);
        if let Some(source) = self.calls.sources.get(source) {
            rustix::net::bind(&socket, &SocketAddrV4::new(*source, 0))?;
        }
        match rustix::net::connect(&socket, &self.calls.target) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        self.poll.add(&socket, number, Until::Writable)?;
        let begun = Instant::now();
        self.waiting.push_back((begun, number));
        self.connections.insert(number, Connection { socket, begun, text: Vec::new() });
        Ok(())
    }

    fn advance(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        match connection.advance(&self.poll, number) {
            Ok(None) => return,
            Ok(Some(who)) => {
                if connection.begun.elapsed() > SLOW {
                    self.window.slow += 1;
                }
                self.window.answered(who);
            }
            Err(error) => self.window.failed(cause(error)),
        }
        self.connections.remove(&number);
    }

    fn expire(&mut self) {
        while let Some((begun, number)) = self.waiting.front().copied() {
            let is_open = self.connections.contains_key(&number);
            if is_open && begun.elapsed() < PATIENCE {
                return;
            }
            self.waiting.pop_front();
            if self.connections.remove(&number).is_some() {
                self.window.failed("timeout");
            }
        }
    }
}

impl Connection {
    /// Who has answered, once a server has.
    fn advance(&mut self, poll: &Poll, number: u64) -> Result<Option<String>, Errno> {
        sockopt::socket_error(&self.socket)??;
        if self.text.is_empty() {
            // It is writable: asked once, the answer is waited for.
            write(&self.socket, &[ASK])?;
            self.text.push(ASK);
            poll.change(&self.socket, number, Until::Readable)?;
            return Ok(None);
        }
        let mut buffer = [0; 256];
        match read(&self.socket, &mut buffer) {
            Ok(0) => return Err(Errno::CONNRESET),
            Ok(count) => self.text.extend_from_slice(&buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error),
        }
        let text = self.text[1..].strip_suffix(b"\n");
        Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
    }
}

fn cause(error: Errno) -> &'static str {
    match error {
        Errno::CONNREFUSED => "refused",
        Errno::CONNRESET | Errno::PIPE => "reset",
        Errno::HOSTUNREACH | Errno::NETUNREACH => "unreachable",
        Errno::TIMEDOUT => "timeout",
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => "no port is free",
        _ => "other",
    }
}

/// Reads the arguments `TARGET RATE COUNT UNTIL SOURCE…`.
pub fn arguments(mut words: impl Iterator<Item = String>) -> Result<Calls> {
    let mut next = |what: &str| words.next().with_context(|| format!("{what} is missing"));
    let target = next("TARGET")?.parse().context("TARGET is an address with a port")?;
    let rate = next("RATE")?.parse().context("RATE is a number")?;
    let count = next("COUNT")?.parse().context("COUNT is a number")?;
    let until = PathBuf::from(next("UNTIL")?);
    let sources = words.map(|word| word.parse().context("SOURCE is an address"));
    Ok(Calls { target, sources: sources.collect::<Result<_>>()?, rate, count, until })
}
