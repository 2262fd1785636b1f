//! `fleet-load serve`, `fleet-load call TARGET RATE COUNT UNTIL SOURCE…`, `fleet-load stream TARGET UNTIL`,
//! `fleet-load flow TARGET UNTIL`, `fleet-load ready|unready SERVER…`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use fleet_load::{call, flow, instruct, serve, stream};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_default();
    match verb.as_str() {
        "serve" => serve::run(),
        "call" => call::run(&call::arguments(words)?),
        "stream" | "flow" => {
            let target = words.next().context("TARGET is missing")?.parse()?;
            let until = PathBuf::from(words.next().context("UNTIL is missing")?);
            if verb == "flow" { flow::run(target, &until) } else { stream::run(target, &until) }
        }
        "ready" | "unready" => {
            let servers = words.map(|word| word.parse()).collect::<Result<Vec<_>, _>>()?;
            instruct::run(verb == "ready", servers.into_iter())
        }
        _ => bail!("fleet-load serve | call | stream | flow | ready | unready"),
    }
}
