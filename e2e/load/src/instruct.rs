//! Instructions for servers.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::serve::{CONTROL_PORT, READY, UNREADY};

const PATIENCE: Duration = Duration::from_secs(5);

/// Makes servers ready or unready, and waits until each has done it.
pub fn run(ready: bool, servers: impl Iterator<Item = IpAddr>) -> Result<()> {
    let word = if ready { READY } else { UNREADY };
    for server in servers {
        instruct(server, word).with_context(|| format!("instruct {server}"))?;
    }
    Ok(())
}

fn instruct(server: IpAddr, word: u8) -> Result<()> {
    let address = SocketAddr::new(server, CONTROL_PORT);
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&[word])?;
    stream.read_exact(&mut [0])?;
    Ok(())
}
