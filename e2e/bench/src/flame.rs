//! Flame graphs: sampled stacks as a picture. The wider a frame, the more samples went through it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Pixels of the picture, of a row, of a letter; what is narrower than the last is left out.
const WIDTH: f64 = 1400.0;
const ROW: f64 = 16.0;
const LETTER: f64 = 6.5;
const NARROWEST: f64 = 0.4;

/// Samples by their stacks.
#[derive(Debug, Default)]
pub(super) struct Flame {
    root: Node,
    /// Samples by the crate, or the library, that was at work itself.
    own: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct Node {
    samples: u64,
    callees: BTreeMap<String, Node>,
}

/// A function of a stack.
struct Frame {
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
        self.root.samples
    }

    /// Who was at work itself how often, as a share of all; most first.
    pub(super) fn at_work(&self) -> Vec<(&str, f64)> {
        let share = |samples: u64| ratio(samples, self.root.samples);
        let mut all: Vec<_> = self.own.iter().map(|(who, n)| (who.as_str(), share(*n))).collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all
    }

    /// Share of the samples with a function on the stack whose name contains `part`.
    pub(super) fn within(&self, part: &str) -> f64 {
        ratio(self.root.within(part), self.root.samples)
    }

    fn add(&mut self, innermost_first: &[Frame]) {
        let Some(innermost) = innermost_first.first() else { return };
        *self.own.entry(innermost.origin.clone()).or_default() += 1;
        let mut node = &mut self.root;
        node.samples += 1;
        for frame in innermost_first.iter().rev() {
            node = node.callees.entry(frame.function.clone()).or_default();
            node.samples += 1;
        }
    }

    /// The picture, callers below.
    pub(super) fn svg(&self, title: &str) -> String {
        let rows = self.root.depth();
        let height = (f64::from(rows) + 2.0) * ROW;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"monospace\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"8\" y=\"14\" font-size=\"13\">{} ({} samples)</text>\n",
            escaped(title),
            self.root.samples
        );
        let all = self.root.samples.max(1);
        self.root.draw(&mut svg, (0.0, height - ROW), all);
        svg.push_str("</svg>\n");
        svg
    }
}

impl Node {
    fn depth(&self) -> u16 {
        self.callees.values().map(|callee| callee.depth().saturating_add(1)).max().unwrap_or(0)
    }

    fn within(&self, part: &str) -> u64 {
        let of = |(function, callee): (&String, &Self)| {
            if function.contains(part) { callee.samples } else { callee.within(part) }
        };
        self.callees.iter().map(of).sum()
    }

    /// Draws the callees of this node, side by side from `left`.
    fn draw(&self, svg: &mut String, (mut left, bottom): (f64, f64), all: u64) {
        for (function, callee) in &self.callees {
            let width = ratio(callee.samples, all) * WIDTH;
            if width >= NARROWEST {
                rectangle(svg, (left, bottom), width, function, callee.samples, all);
                callee.draw(svg, (left, bottom - ROW), all);
            }
            left += width;
        }
    }
}

fn rectangle(
    svg: &mut String,
    (left, top): (f64, f64),
    width: f64,
    function: &str,
    samples: u64,
    all: u64,
) {
    let (name, percent) = (escaped(function), ratio(samples, all) * 100.0);
    let hue =
        function.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte)) % 50;
    let mut controller = width;
    let fits = |_: &char| {
        controller -= LETTER;
        controller > 0.0
    };
    let shown = escaped(&function.chars().take_while(fits).collect::<String>());
    // Writing to a String does not fail.
    let _ = writeln!(
        svg,
        "<g><title>{name}: {samples} samples, {percent:.1} %</title>\
         <rect x=\"{left:.1}\" y=\"{top:.0}\" width=\"{width:.1}\" height=\"{}\" fill=\"hsl({hue},80%,65%)\"/>\
         <text x=\"{:.1}\" y=\"{:.0}\">{shown}</text></g>",
        ROW - 1.0,
        left + 2.0,
        top + ROW - 5.0,
    );
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
    Some(Frame { function: function.to_owned(), origin: origin.to_owned() })
}

#[allow(clippy::cast_precision_loss, reason = "counts of samples are small")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "agent \n\
        \t    55 <serde_json::de::Deserializer<R> as serde::Deserializer>::read::h0123456789abcdef (/x/agent)\n\
        \t    56 tokio::run (/x/agent)\n\n\
        agent \n\
        \tffff do_syscall_64 ([kernel.kallsyms])\n\
        \t    56 tokio::run (/x/agent)\n\n";

    #[test]
    fn stacks_are_merged_from_their_outer_ends() {
        let flame = Flame::of(SCRIPT);
        assert_eq!(flame.samples(), 2);
        assert_eq!(flame.at_work(), [("kernel", 0.5), ("serde_json", 0.5)]);
        assert!((flame.within("tokio::") - 1.0).abs() < 1e-9);
        assert!((flame.within("serde_json") - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_picture_shows_every_function_once() {
        let svg = Flame::of(SCRIPT).svg("agent");
        assert_eq!(svg.matches("<title>tokio::run: 2 samples, 100.0 %</title>").count(), 1);
        assert!(svg.contains("<title>&lt;serde_json::de::Deserializer&lt;R&gt; as"), "{svg}");
        assert!(!svg.contains("h0123456789abcdef"), "{svg}");
        assert_eq!(svg.matches("<rect x").count(), 3);
    }
}
