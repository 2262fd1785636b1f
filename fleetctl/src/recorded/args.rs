//! Arguments of `record`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `record`.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// The file to write; it must not exist
    pub file: PathBuf,
    /// Pause between two frames, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub every: u64,
    /// Number of frames, one at least; by default until it is interrupted
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub frames: Option<u32>,
}
