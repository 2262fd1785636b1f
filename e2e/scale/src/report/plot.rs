//! Plots of growth, both axes logarithmic: a cost that does not depend on the size is a level line.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::growth::{Point, count, mib};

const SIZE: (u32, u32) = (480, 320);

/// File, title, and what is drawn.
pub(super) type Plot = (&'static str, &'static str, fn(&Point) -> f64);

/// All plots.
pub(super) const PLOTS: [Plot; 5] = [
    ("scale-latency.svg", "Endpoint change, p50, ms", |point| point.p50_ms),
    ("scale-cpu-hub.svg", "CPU of the hub agent per change, ms", |point| point.hub_agent_ms),
    ("scale-cpu-members.svg", "CPU of the members' agents per change, ms", |point| {
        point.member_agents_ms
    }),
    ("scale-writes.svg", "Writes on the hub per change", |point| point.writes),
    ("scale-rss.svg", "Memory of the hub agent, MiB", |point| mib(point.hub_agent_rss)),
];

/// The files, if there is more than one size.
pub(super) fn growth(points: &[Point]) -> Result<Vec<(&'static str, String)>> {
    if points.len() < 2 {
        return Ok(Vec::new());
    }
    let draw = |(name, title, of): Plot| {
        let points: Vec<(f64, f64)> =
            points.iter().map(|point| (count(point.members), of(point))).collect();
        Ok((name, draw(title, &points).map_err(|error| anyhow!("{name}: {error}"))?))
    };
    PLOTS.into_iter().map(draw).collect()
}

fn draw(title: &str, points: &[(f64, f64)]) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let largest = points.iter().map(|point| point.1).fold(0.0, f64::max);
        let smallest = points.iter().map(|point| point.1).fold(largest, f64::min);
        let members = points.iter().map(|point| point.0).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 15))
            .margin(8)
            .x_label_area_size(32)
            .y_label_area_size(48)
            .build_cartesian_2d(
                (0.8..members * 1.25).log_scale(),
                (smallest.max(0.001) / 4.0..largest.max(0.001) * 4.0).log_scale(),
            )?;
        chart.configure_mesh().x_desc("members").light_line_style(WHITE).draw()?;
        chart.draw_series(LineSeries::new(points.iter().copied(), &BLUE))?;
        let dots = points.iter().map(|&point| Circle::new(point, 3, BLUE.filled()));
        chart.draw_series(dots)?;
        area.present()?;
    }
    Ok(svg)
}
