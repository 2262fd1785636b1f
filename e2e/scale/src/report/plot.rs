//! Plots, both axes logarithmic: a cost that does not depend on the size is a level line.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::growth::{Point, count, mib};
use crate::load::Step;
use crate::standard::Rates;

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

/// File, title, and what is drawn of each rate.
type RatePlot = (&'static str, &'static str, fn(&Step) -> f64);

/// Plots of both front ends.
pub(super) const RATE_PLOTS: [RatePlot; 2] = [
    ("scale-rates-latency.svg", "Endpoint change, p99, ms", |step| step.p99_ms),
    ("scale-rates-cpu.svg", "CPU of the hub per change, ms", |step| {
        let spent = step.spent;
        (spent.servers + spent.hub_agent) / (spent.seconds * step.rate) * 1e3
    }),
];

/// What a line is called, its colour, and its points.
struct Line {
    name: &'static str,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// The files, if there is more than one size.
pub(super) fn growth(points: &[Point]) -> Result<Vec<(&'static str, String)>> {
    if points.len() < 2 {
        return Ok(Vec::new());
    }
    let draw = |(name, title, of): Plot| {
        let points = points.iter().map(|point| (count(point.members), of(point))).collect();
        let line = Line { name: "", color: BLUE, points };
        let svg = draw(title, "members", &[line]);
        Ok((name, svg.map_err(|error| anyhow!("{name}: {error}"))?))
    };
    PLOTS.into_iter().map(draw).collect()
}

/// The files that compare both front ends, at the rates that were tried.
pub(super) fn rates(rates: &Rates) -> Result<Vec<(&'static str, String)>> {
    let draw = |(name, title, of): RatePlot| {
        let line = |name, color, steps: &[Step]| {
            let mut points: Vec<_> = steps.iter().map(|step| (step.rate, of(step))).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Line { name, color, points }
        };
        let lines = [line("copies", RED, &rates.copying), line("standard", BLUE, &rates.standard)];
        let svg = draw(title, "changes per second", &lines);
        Ok((name, svg.map_err(|error| anyhow!("{name}: {error}"))?))
    };
    RATE_PLOTS.into_iter().map(draw).collect()
}

fn draw(title: &str, across: &str, lines: &[Line]) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let all = || lines.iter().flat_map(|line| &line.points);
        let largest = all().map(|point| point.1).fold(0.0, f64::max);
        let smallest = all().map(|point| point.1).fold(largest, f64::min);
        let last = all().map(|point| point.0).fold(1.0, f64::max);
        let first = all().map(|point| point.0).fold(last, f64::min).max(1.0);
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 15))
            .margin(8)
            .x_label_area_size(32)
            .y_label_area_size(48)
            .build_cartesian_2d(
                (first * 0.8..last * 1.25).log_scale(),
                (smallest.max(0.001) / 4.0..largest.max(0.001) * 4.0).log_scale(),
            )?;
        chart.configure_mesh().x_desc(across).light_line_style(WHITE).draw()?;
        for Line { name, color, points } in lines {
            chart.draw_series(LineSeries::new(points.iter().copied(), color))?;
            let dots = points.iter().map(|&point| Circle::new(point, 3, color.filled()));
            chart.draw_series(dots)?;
            if let Some(&end) = points.last().filter(|_| !name.is_empty()) {
                let label = ("sans-serif", 12).into_font().color(color);
                chart.draw_series([Text::new(*name, end, label)])?;
            }
        }
        area.present()?;
    }
    Ok(svg)
}
