//! `fleetctl graph`: the fleet as a picture of three columns, exporters, Services and importers.
//!
//! - `drawing`: what is drawn, bounded; `shape`: boxes and lines; `text`: text that others wrote, as every form takes it.
//! - `dot`, `mermaid`, `svg`: the forms. All are pure, and of the same fleet give the same bytes.

mod dot;
mod drawing;
mod mermaid;
mod shape;
mod svg;
mod text;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{Cli, GraphArgs};
use crate::gather::Watched;
use crate::output::{Format, UNASKED, data, print, report};
use crate::picture::Picture;
use crate::status::status;
use crate::story::Hop;
use crate::view::{View, view};
pub use drawing::Drawing;
pub use shape::{Line, Node, Tone};

/// Draws a fleet; `None` for the formats of data.
pub fn draw(format: Format, drawing: &Drawing) -> Option<String> {
    match format {
        Format::Text | Format::Wide | Format::Dot => Some(dot::dot(drawing)),
        Format::Mermaid => Some(mermaid::mermaid(drawing)),
        Format::Svg => Some(svg::svg(drawing)),
        Format::Json | Format::Yaml => None,
    }
}

/// Prints the picture.
///
/// # Errors
/// If the hub cannot be reached.
pub(crate) async fn run(cli: &Cli, args: &GraphArgs) -> Result<ExitCode> {
    let watched = Watched::start(&cli.access).await?;
    let look = |picture: &Picture| view(picture, status(picture), &args.namespaces);
    let found = watched.ask(look, View::is_calm).await;
    let found = found.with_credentials(&watched.credentials().await);
    let found = found.with_agent_versions(watched.agent_versions().await);
    let format = cli.output.format;
    let draw = || draw(format, &Drawing::of(&found, usize::from(args.max_rows)));
    let text = data(format, &found)?.or_else(draw).unwrap_or_default();
    print(&text)?;
    for hop in &found.unread {
        report(&format!("fleetctl: incomplete result: {}: {}", hop.cluster, hop.says));
    }
    let is_unread = found.unread.iter().any(Hop::stops);
    Ok(if is_unread { ExitCode::from(UNASKED) } else { ExitCode::SUCCESS })
}
