//! Addresses as the flags of the original take them.

use std::io;
use std::net::Ipv6Addr;

use tokio::net::TcpListener;

use super::error::AdminError;

/// An address to listen on.
#[derive(Debug)]
pub(super) struct Address {
    flag: &'static str,
    text: String,
    /// Empty for all addresses of the machine.
    host: String,
    port: u16,
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port
    }
}

impl Address {
    /// Reads `:port` or `host:port`; `None` for "0" and nothing at all, which switch it off.
    pub(super) fn parse(flag: &'static str, text: &str) -> Result<Option<Self>, AdminError> {
        let text = text.trim();
        if text.is_empty() || text == "0" {
            return Ok(None);
        }
        let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let Some((host, port)) = parts else {
            return Err(AdminError::Address { flag, text: text.to_owned() });
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Some(Self { flag, text: text.to_owned(), host, port }))
    }

    /// Whether the system chooses the port.
    pub(super) fn any_port(&self) -> bool {
        self.port == 0
    }

    /// Takes the address.
    pub(super) async fn bind(&self) -> Result<TcpListener, AdminError> {
        let bound = if self.host.is_empty() {
            // Both families at once, as Go does; without IPv6 on the machine the other one alone.
            match TcpListener::bind((Ipv6Addr::UNSPECIFIED, self.port)).await {
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    TcpListener::bind(("0.0.0.0", self.port)).await
                }
                bound => bound,
            }
        } else {
            TcpListener::bind((self.host.as_str(), self.port)).await
        };
        bound.map_err(|source| self.error(source))
    }

    /// An error about this address.
    pub(super) fn error(&self, source: io::Error) -> AdminError {
        AdminError::Bind { flag: self.flag, address: self.text.clone(), source }
    }
}
