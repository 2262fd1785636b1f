//! Flame graphs: sampled stacks as a picture. The wider a frame, the more samples went through it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use inferno::flamegraph;

/// Samples by their stacks.
#[derive(Debug, Default)]
pub(super) struct Flame {
    samples: u64,
    /// Samples by their functions, callers first, with semicolons between them.
    stacks: BTreeMap<String, u64>,
    /// Samples by the crate, or the library, that was at work itself.
    own: BTreeMap<String, u64>,
}

/// A function of a stack.
struct Frame {
    /// Its name, without semicolons.
    function: String,
    /// The crate of a function of ours; for others the file that it comes from.
    origin: String,
}

impl Flame {
    /// Reads what `perf script -F comm,ip,sym,dso` prints: a headline per sample and its frames, the innermost first.
    pub(super) fn of(script: &str) -> Self {
        let mut flame = Self::default();
        let mut stack = Vec::new();
        for line in script.lines().chain([""]) {
            if line.starts_with([' ', '\t']) {
                stack.extend(frame(line));
            } else {
                flame.add(&std::mem::take(&mut stack));
            }
        }
        flame
    }

    /// How many samples there are.
    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// Who was at work itself how often, as a share of all; most first.
    pub(super) fn at_work(&self) -> Vec<(&str, f64)> {
        let share = |samples: u64| ratio(samples, self.samples);
        let mut all: Vec<_> = self.own.iter().map(|(who, n)| (who.as_str(), share(*n))).collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all
    }

    /// Share of the samples with a function on the stack whose name contains `part`.
    pub(super) fn within(&self, part: &str) -> f64 {
        let with_part = self.stacks.iter().filter(|(stack, _)| stack.contains(part));
        ratio(with_part.map(|(_, samples)| samples).sum(), self.samples)
    }

    fn add(&mut self, innermost_first: &[Frame]) {
        let Some(innermost) = innermost_first.first() else { return };
        *self.own.entry(innermost.origin.clone()).or_default() += 1;
        let functions: Vec<_> =
            innermost_first.iter().rev().map(|frame| frame.function.as_str()).collect();
        *self.stacks.entry(functions.join(";")).or_default() += 1;
        self.samples += 1;
    }

    /// The picture, an SVG with callers below.
    ///
    /// # Errors
    /// If there are no samples.
    pub(super) fn svg(&self, title: &str) -> Result<Vec<u8>> {
        let mut options = flamegraph::Options::default();
        options.title = format!("{title} ({} samples)", self.samples);
        // A function has the same colour in all pictures.
        options.deterministic = true;
        let lines: Vec<_> =
            self.stacks.iter().map(|(stack, samples)| format!("{stack} {samples}")).collect();
        let mut svg = Vec::new();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
            .with_context(|| format!("draw {title}"))?;
        Ok(svg)
    }
}

/// `  7f01 function (file)`; `None` where nothing is known but an address.
fn frame(line: &str) -> Option<Frame> {
    let (_, rest) = line.trim().split_once(' ')?;
    let (function, file) = rest.rsplit_once(" (")?;
    let file = file.trim_end_matches(')');
    let file = file.rsplit('/').next().unwrap_or(file);
    let function = match function.rsplit_once("::h") {
        // The hash that distinguishes instances of a generic function.
        Some((name, hash)) if hash.len() == 16 => name,
        _ => function,
    };
    let is_kernel = file.starts_with("[kernel");
    let origin = match function.trim_start_matches(['<', '&']).split_once("::") {
        _ if is_kernel => "kernel",
        Some((name, _)) => name.rsplit(' ').next().unwrap_or(name),
        None => file,
    };
    // `[u8; 4]` would be two functions of the stack.
    Some(Frame { function: function.replace(';', ":"), origin: origin.to_owned() })
}

#[allow(clippy::cast_precision_loss, reason = "counts of samples are small")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "agent \n\
        \t    55 <serde_json::de::Deserializer<[u8; 4]> as serde::Deserializer>::read::h0123456789abcdef (/x/agent)\n\
        \t    56 tokio::run (/x/agent)\n\n\
        agent \n\
        \tffff do_syscall_64 ([kernel.kallsyms])\n\
        \t    56 tokio::run (/x/agent)\n\n";

    #[test]
    fn stacks_are_counted() {
        let flame = Flame::of(SCRIPT);
        assert_eq!(flame.samples(), 2);
        assert_eq!(flame.at_work(), [("kernel", 0.5), ("serde_json", 0.5)]);
        assert!((flame.within("tokio::") - 1.0).abs() < 1e-9);
        assert!((flame.within("serde_json") - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_picture_shows_every_function_once() {
        let svg = String::from_utf8(Flame::of(SCRIPT).svg("agent").unwrap()).unwrap();
        assert_eq!(svg.matches("<title>tokio::run (2 samples, 100.00%)</title>").count(), 1);
        assert_eq!(svg.matches(" (1 samples, 50.00%)</title>").count(), 2, "{svg}");
        let name =
            "&lt;serde_json::de::Deserializer&lt;[u8: 4]&gt; as serde::Deserializer&gt;::read (";
        assert!(svg.contains(name), "{svg}");
        assert!(!svg.contains("h0123456789abcdef"), "{svg}");
    }
}
