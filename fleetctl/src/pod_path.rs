//! `fleetctl explain pod`: on which hop a Pod of a virtual node waits, and why. [`explain`] is a function of what was read.

mod explain;
mod read;

use std::process::ExitCode;

use anyhow::Result;
use fleet_api::ObjectName;

pub use explain::{PodEvidence, PodHop, PodStory, explain};

use crate::args::Cli;
use crate::output::{Paint, answer, data, print};

/// Reads and explains.
pub(crate) async fn run(cli: &Cli, pod: &ObjectName, origin: Option<&str>) -> Result<ExitCode> {
    let evidence = read::evidence(cli, pod, origin).await?;
    let story = explain(&evidence);
    let text = data(cli.output.format, &story)?;
    print(&text.unwrap_or_else(|| shown(&story, cli.output.paint())))?;
    Ok(answer(!story.stops))
}

fn shown(story: &PodStory, paint: Paint) -> String {
    let verdict = &story.verdict;
    let mut text = if story.stops { paint.bad(verdict) } else { paint.good(verdict) } + "\n";
    if let Some(help) = &story.help {
        text += &[&paint.bold("What to do:"), " ", &paint.good(help), "\n"].concat();
    }
    text.push('\n');
    for PodHop { cluster, object, says } in &story.hops {
        text += &["  ", &paint.good(&format!("{cluster}  {object}  {says}")), "\n"].concat();
    }
    text
}
