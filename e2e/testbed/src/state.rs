//! The run folder: where a testbed keeps its files, and what it must remember to be cleaned up after a kill.
//!
//! Layout: `<root>/<name>/` holds `owner.json`, `processes.jsonl` and one folder per cluster. The root is on a memory
//! file system where there is one, readable by its user only, and outside of any checkout.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

const OWNER: &str = "owner.json";
const PROCESSES: &str = "processes.jsonl";
/// How long a process that was killed may take to end: one with namespaces ends after all processes in them.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// One process, distinguished from a later one with the same id by its start time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Short name, for example `etcd`.
    pub name: String,
    /// Process id.
    pub pid: u32,
    /// Clock ticks between the machine's boot and the process's start; `None` where there is no `/proc`.
    pub started: Option<u64>,
    /// The program's file.
    pub program: PathBuf,
    /// Where its output goes.
    #[serde(default)]
    pub log: Option<PathBuf>,
}

impl ProcessRecord {
    /// Describes a process that runs now.
    pub fn of(name: &str, pid: u32, program: &Path) -> Self {
        let program = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        Self { name: name.to_owned(), pid, started: start_time(pid), program, log: None }
    }

    /// Describes the process that runs this code.
    pub fn of_this_process() -> Self {
        let program = std::env::current_exe().unwrap_or_default();
        Self::of("owner", std::process::id(), &program)
    }

    /// Whether this very process, not a later one with its id, still runs.
    pub fn runs(&self) -> bool {
        self.started.is_some() && start_time(self.pid) == self.started
    }

    /// Sends a signal if it is still this very process and still runs the recorded program.
    pub fn signal(&self, signal: Signal) -> bool {
        let program = fs::read_link(format!("/proc/{}/exe", self.pid)).unwrap_or_default();
        if !self.runs() || !is_same_program(&program, &self.program) {
            return false;
        }
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        kill_process(pid, signal).is_ok()
    }
}

/// The kernel marks a program whose file was replaced since, by a new build for example.
fn is_same_program(running: &Path, recorded: &Path) -> bool {
    let running = running.to_string_lossy();
    Path::new(running.trim_end_matches(" (deleted)")) == recorded
}

/// Field 22 of `/proc/<pid>/stat`; `None` for a process that is gone or waits to be reaped.
fn start_time(pid: u32) -> Option<u64> {
    parse_start_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_start_time(stat: &str) -> Option<u64> {
    // The program's name is in parentheses and may itself hold spaces and parentheses.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The folder under which all testbeds of this user live: `FLEET_TESTBED_DIR`, else on `/dev/shm`, else in the
/// temporary folder.
pub fn root() -> Result<PathBuf> {
    let root = if let Some(folder) = std::env::var_os("FLEET_TESTBED_DIR") {
        PathBuf::from(folder)
    } else {
        // etcd writes often; a memory file system keeps a slow disk out of the measurements.
        let shm = Path::new("/dev/shm");
        let parent = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
        parent.join(format!("fleet-testbed-{}", user_id()))
    };
    // Credentials live here, so no other user may look; and a folder someone else prepared is refused.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&root)
        .with_context(|| format!("make the run folder {}", root.display()))?;
    let metadata = fs::metadata(&root)?;
    if user_id() != metadata.uid() && user_id() != 0 {
        bail!(
            "{} belongs to another user; set FLEET_TESTBED_DIR to a folder of yours",
            root.display()
        );
    }
    Ok(root)
}

fn user_id() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The folder of one running testbed. Dropping it removes the folder; the logs of a failed test are kept aside.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Cleans what killed runs left, then makes the folder `name`.
    ///
    /// Fails if a live testbed has that name.
    pub fn create(name: &str) -> Result<Self> {
        let root = root()?;
        let _lock = lock(&root)?;
        clean_leftovers(&root)?;
        let path = root.join(name);
        if let Some(owner) = read_owner(&path) {
            bail!("the testbed `{name}` is running already (process {})", owner.pid);
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("make {}", path.display()))?;
        let owner = serde_json::to_vec(&ProcessRecord::of_this_process())?;
        fs::write(path.join(OWNER), owner)?;
        Ok(Self { path })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes and returns a folder inside.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Copies all logs so far to a folder that outlives the run, and returns it.
    pub fn keep_logs(&self) -> PathBuf {
        keep_logs(&self.path)
    }

    /// Remembers a started process for the case that this run is killed.
    pub fn record(&self, process: &ProcessRecord) -> Result<()> {
        let mut line = serde_json::to_string(process)?;
        line.push('\n');
        let mut file =
            OpenOptions::new().create(true).append(true).open(self.path.join(PROCESSES))?;
        file.write_all(line.as_bytes()).context("write the list of processes")
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let kept = keep_logs(&self.path);
            eprintln!("Logs of the failed testbed are in {}", kept.display());
        }
        // Another start would take a folder for a leftover of which half is gone.
        let _lock = self.path.parent().map(lock);
        // What stays is cleaned by the next start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The owner of the testbed in this folder, if it is alive.
pub fn read_owner(folder: &Path) -> Option<ProcessRecord> {
    let owner: ProcessRecord = serde_json::from_slice(&fs::read(folder.join(OWNER)).ok()?).ok()?;
    owner.runs().then_some(owner)
}

/// The processes that the testbed in this folder has started, ended ones included.
pub fn read_processes(folder: &Path) -> Vec<ProcessRecord> {
    parse_processes(&fs::read_to_string(folder.join(PROCESSES)).unwrap_or_default())
}

fn parse_processes(lines: &str) -> Vec<ProcessRecord> {
    // A killed owner may have left half a line.
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Held while folders are made or removed, so that two starts do not take each other's for leftovers.
fn lock(root: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(root.join(".lock"))
        .context("open the run folder's lock")?;
    file.lock().context("lock the run folder")?;
    Ok(file)
}

/// Kills the processes and removes the folders of testbeds whose owner is gone.
pub fn clean() -> Result<()> {
    let root = root()?;
    let _lock = lock(&root)?;
    clean_leftovers(&root)
}

fn clean_leftovers(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root)? {
        let folder = entry?.path();
        if !folder.is_dir() || read_owner(&folder).is_some() {
            continue;
        }
        let processes = read_processes(&folder);
        for process in &processes {
            if process.signal(Signal::KILL) {
                tracing::info!(name = process.name, pid = process.pid, "Ended a leftover process");
            }
        }
        wait_for_end(&processes);
        fs::remove_dir_all(&folder)
            .with_context(|| format!("remove the leftover folder {}", folder.display()))?;
    }
    Ok(())
}

/// What still ends may still write, and a folder goes only while nothing is written into it.
fn wait_for_end(processes: &[ProcessRecord]) {
    let deadline = Instant::now() + END_DEADLINE;
    while processes.iter().any(ProcessRecord::runs) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Copies the log files of a run to a place that outlives it.
fn keep_logs(run: &Path) -> PathBuf {
    let name = run.file_name().unwrap_or_default();
    let target = std::env::temp_dir().join("fleet-testbed-failed").join(name);
    for cluster in fs::read_dir(run).into_iter().flatten().flatten() {
        let folder = target.join(cluster.file_name());
        for file in fs::read_dir(cluster.path()).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "log") {
                let _ = fs::create_dir_all(&folder);
                let _ = fs::copy(file.path(), folder.join(file.file_name()));
            }
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_is_found_behind_an_odd_program_name() {
        let mut fields = vec!["S".to_owned()];
        fields.extend((4..=30).map(|field: u32| field.to_string()));
        let stat = format!("77 (a) b (c) {}", fields.join(" "));
        assert_eq!(parse_start_time(&stat), Some(22));
        assert_eq!(parse_start_time(&stat.replace(" S ", " Z ")), None);
        assert_eq!(parse_start_time("nonsense"), None);
    }

    #[test]
    fn this_process_runs_and_a_later_one_with_its_id_is_told_apart() {
        let this = ProcessRecord::of_this_process();
        assert!(this.runs());
        let later = ProcessRecord { started: this.started.map(|ticks| ticks + 1), ..this };
        assert!(!later.runs());
        assert!(
            !later.signal(Signal::KILL),
            "a process of another start time must never be killed"
        );
    }

    #[test]
    fn half_a_line_does_not_hide_the_others() {
        let whole = ProcessRecord {
            name: "etcd".to_owned(),
            pid: 7,
            started: Some(1),
            program: PathBuf::from("/bin/etcd"),
            log: None,
        };
        let text = format!("{}\n{{\"name\":\"kube", serde_json::to_string(&whole).unwrap());
        assert_eq!(parse_processes(&text), vec![whole]);
    }

    #[test]
    fn processes_of_a_dead_owner_have_ended_when_its_folder_goes() {
        let root = std::env::temp_dir().join(format!("fleet-ended-test-{}", std::process::id()));
        let run = root.join("dead");
        fs::create_dir_all(&run).unwrap();
        let mut left = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let program = PathBuf::from(format!("/proc/{}/exe", left.id()));
        let record = ProcessRecord::of("sleep", left.id(), &program);
        fs::write(run.join(PROCESSES), serde_json::to_vec(&record).unwrap()).unwrap();
        assert!(record.runs());
        clean_leftovers(&root).unwrap();
        assert!(!record.runs() && !run.exists());
        left.wait().unwrap();
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn leftovers_of_a_dead_owner_go_and_those_of_a_live_one_stay() {
        let root = std::env::temp_dir().join(format!("fleet-state-test-{}", std::process::id()));
        for (name, started) in
            [("dead", Some(1)), ("alive", ProcessRecord::of_this_process().started)]
        {
            fs::create_dir_all(root.join(name)).unwrap();
            let owner = ProcessRecord { started, ..ProcessRecord::of_this_process() };
            fs::write(root.join(name).join(OWNER), serde_json::to_vec(&owner).unwrap()).unwrap();
        }
        clean_leftovers(&root).unwrap();
        assert!(!root.join("dead").exists());
        assert!(root.join("alive").exists());
        fs::remove_dir_all(&root).unwrap();
    }
}
