//! One connection that stays: it sends a byte at a time, and each has to come back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::report::Window;
use crate::serve::{ASK, ECHO};

const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two bytes.
const PERIOD: Duration = Duration::from_millis(500);

/// Keeps a connection to `target` until a file is there. Prints a window for each byte, and ends with its first failure.
pub fn run(target: SocketAddr, until: &Path) -> Result<()> {
    let mut stream = TcpStream::connect(target).context("connect")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let who = ask(&mut stream)?;
    while !until.exists() {
        let begun = Instant::now();
        let mut window = Window::begin();
        match echo(&mut stream) {
            Ok(()) => window.answered(who.clone()),
            Err(error) => {
                window.failed(&error.to_string());
                window.last = true;
                return window.print();
            }
        }
        window.print()?;
        std::thread::sleep(PERIOD.saturating_sub(begun.elapsed()));
    }
    Window { last: true, ..Window::begin() }.print()
}

fn ask(stream: &mut TcpStream) -> Result<String> {
    stream.write_all(&[ASK])?;
    let (mut text, mut byte) = (Vec::new(), [0]);
    loop {
        stream.read_exact(&mut byte).context("read who answers")?;
        if byte[0] == b'\n' {
            return Ok(String::from_utf8(text)?);
        }
        text.push(byte[0]);
    }
}

fn echo(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(&[ECHO])?;
    stream.read_exact(&mut [0])
}
