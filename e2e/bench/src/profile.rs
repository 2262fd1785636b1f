//! Flame graphs of the agents while the bench is at work, from stacks that Linux' `perf` samples.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::flame::Flame;
use fleet_testbed::agents::Agents;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::process::find_in_path;

/// Samples per second of CPU time; no divisor of anything that ticks.
const RATE: &str = "997";
/// How stacks are found: by the tables of the debugger, from so many bytes of each.
const STACKS: &str = "dwarf,16384";

/// What is looked for in the stacks: where work is done that could be less.
const WORK: [(&str, &str); 6] = [
    ("decoding", "Deserialize"),
    ("accumulator", "fleet_accumulator::"),
    ("plans", "::plan"),
    ("writer", "fleet_runtime::writer"),
    ("TLS", "rustls::"),
    ("HTTP", "hyper::"),
];

/// Recorders of all agents.
pub(super) struct Profile {
    perf: PathBuf,
    folder: PathBuf,
    recorders: Vec<(String, Child)>,
}

impl Profile {
    /// Attaches to the agents. `None` where `perf` is missing.
    pub(super) fn start(fleet: &Fleet, agents: &Agents, folder: &Path) -> Result<Option<Self>> {
        let Some(perf) = find_in_path("perf") else {
            eprintln!(
                "SKIPPED: perf is not installed (apt-get install linux-perf); no flame graphs are made"
            );
            return Ok(None);
        };
        std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        let mut profile = Self { perf, folder: folder.to_owned(), recorders: Vec::new() };
        for agent in fleet.agents() {
            let pid = agents.pid(agent).context("the agent does not run")?;
            let name = fleet.agent_name(agent).clone();
            let recorder = profile.record(&name, pid)?;
            profile.recorders.push((name, recorder));
        }
        Ok(Some(profile))
    }

    fn record(&self, name: &str, pid: u32) -> Result<Child> {
        let output = std::fs::File::create(self.file(name, "log"))?;
        Command::new(&self.perf)
            .args(["record", "--quiet", "-F", RATE, "--call-graph", STACKS, "-p", &pid.to_string()])
            .arg("-o")
            .arg(self.file(name, "perf"))
            .stdin(Stdio::null())
            .stderr(output)
            .spawn()
            .context("start perf")
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }

    /// Ends the recording, draws, and reports the largest shares.
    pub(super) fn finish(mut self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for (name, mut recorder) in std::mem::take(&mut self.recorders) {
            // So perf writes down what it has.
            let pid = i32::try_from(recorder.id()).ok().and_then(Pid::from_raw);
            kill_process(pid.context("perf has a process id")?, Signal::INT)?;
            recorder.wait()?;
            let flame = self.read(&name)?;
            let picture = self.file(&name, "svg");
            std::fs::write(&picture, flame.svg(&name)?)?;
            notes.push(note(&name, &flame, &picture));
        }
        Ok(notes)
    }

    fn read(&self, name: &str) -> Result<Flame> {
        let mut script = Command::new(&self.perf);
        script.args(["script", "--no-inline", "-F", "comm,ip,sym,dso", "-i"]);
        let output = script.arg(self.file(name, "perf")).output()?;
        let flame = Flame::of(&String::from_utf8_lossy(&output.stdout));
        let log = self.file(name, "log");
        ensure!(
            flame.samples() > 0,
            "perf has sampled nothing of {name}; {} contains the reason (kernel.perf_event_paranoid may be above 2): {}",
            log.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(flame)
    }
}

fn note(name: &str, flame: &Flame, picture: &Path) -> String {
    let percent = |(who, share): (&str, f64)| format!("{who} {:.0} %", share * 100.0);
    let at_work: Vec<_> = flame.at_work().into_iter().take(8).map(percent).collect();
    let within = WORK.map(|(what, part)| percent((what, flame.within(part))));
    format!(
        "{}: {} samples of {name}\n  at work itself: {}\n  on the stack: {}",
        picture.display(),
        flame.samples(),
        at_work.join(", "),
        within.join(", ")
    )
}
