//! Opens connections and looks up names. Nothing is sent over a connection.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::reach::cell::Destination;
use crate::reach::outcome::Outcome;

/// Maximum time for an answer: a packet that is lost is sent again after one second.
const PATIENCE: Duration = Duration::from_secs(2);
/// Look-ups at once. One that is not answered goes on for a while, in a thread of its own.
const LOOKUPS: usize = 4;

/// What a dial has met, and how long it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Result {
    pub(super) outcome: Outcome,
    pub(super) elapsed: Duration,
}

/// Dials.
#[derive(Clone, Debug)]
pub(super) struct Dialer {
    lookups: Arc<Semaphore>,
}

impl Default for Dialer {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }
}

impl Dialer {
    /// One dial.
    pub(super) async fn dial(&self, to: &Destination) -> Result {
        let begin = Instant::now();
        let outcome = match to {
            Destination::Connect(address) => connect(*address).await,
            Destination::Resolve { name, address } => self.resolve(name, *address).await,
        };
        Result { outcome, elapsed: begin.elapsed() }
    }

    async fn resolve(&self, name: &Arc<str>, address: IpAddr) -> Outcome {
        let Ok(permit) = Arc::clone(&self.lookups).try_acquire_owned() else {
            return Outcome::NotDialled;
        };
        let name = Arc::clone(name);
        // Not cancelled, so that as many run as there are permits.
        let lookup = tokio::spawn(async move {
            let found = lookup_host((&*name, 0)).await;
            drop(permit);
            found.map(|found| found.map(|found| found.ip()).collect::<Vec<_>>())
        });
        match timeout(PATIENCE, lookup).await {
            Err(_) => Outcome::TimedOut,
            Ok(Ok(Ok(found))) if found.contains(&address) => Outcome::Ok,
            Ok(Ok(Ok(found))) if !found.is_empty() => Outcome::OtherAddress,
            Ok(Ok(_)) => Outcome::NoName,
            Ok(Err(_)) => Outcome::NotDialled,
        }
    }
}

async fn connect(address: SocketAddr) -> Outcome {
    match timeout(PATIENCE, TcpStream::connect(address)).await {
        Err(_) => Outcome::TimedOut,
        Ok(Ok(_)) => Outcome::Ok,
        Ok(Err(error)) => failed(error.kind()),
    }
}

/// What an error shows about the other side; most others are a matter of this machine.
fn failed(kind: ErrorKind) -> Outcome {
    match kind {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Outcome::Refused,
        ErrorKind::TimedOut => Outcome::TimedOut,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Outcome::NoRoute,
        _ => Outcome::NotDialled,
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_is_made_or_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = Destination::Connect(listener.local_addr().unwrap());
        let dialer = Dialer::default();
        assert_eq!(dialer.dial(&to).await.outcome, Outcome::Ok);
        drop(listener);
        assert_eq!(dialer.dial(&to).await.outcome, Outcome::Refused);
    }

    #[tokio::test]
    async fn a_name_has_to_lead_to_its_address() {
        let dialer = Dialer::default();
        let resolve = |address: &str| Destination::Resolve {
            name: "127.0.0.1".into(),
            address: address.parse().unwrap(),
        };
        assert_eq!(dialer.dial(&resolve("127.0.0.1")).await.outcome, Outcome::Ok);
        assert_eq!(dialer.dial(&resolve("127.0.0.2")).await.outcome, Outcome::OtherAddress);
        let all = Arc::clone(&dialer.lookups).try_acquire_many_owned(4).unwrap();
        assert_eq!(dialer.dial(&resolve("127.0.0.1")).await.outcome, Outcome::NotDialled);
        drop(all);
    }

    #[test]
    fn errors_of_this_machine_show_nothing() {
        assert_eq!(failed(ErrorKind::AddrNotAvailable), Outcome::NotDialled);
        assert_eq!(failed(ErrorKind::PermissionDenied), Outcome::NotDialled);
        assert_eq!(failed(ErrorKind::NetworkUnreachable), Outcome::NoRoute);
    }
}
