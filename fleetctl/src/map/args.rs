//! Arguments of `map`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `map`.
#[derive(Args, Debug)]
pub struct MapArgs {
    /// Port on 127.0.0.1; by default one that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Show a recording of fleetctl record in place of clusters
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}
