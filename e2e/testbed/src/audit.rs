//! Counting API writes in the audit logs.
//!
//! A write is an answered create, update, patch or delete. What an idle agent does anyway is left out: leases, events
//! and the heartbeat (the status of `InternalMemberCluster`s).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::fleet::Fleet;
use crate::rbac;

/// One answered write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    /// Who wrote.
    pub user: String,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// Plural of the kind, with `/<subresource>` where there is one.
    pub resource: String,
    /// `namespace/name` of the object; a generated name is missing.
    pub object: String,
    /// HTTP status code of the answer.
    pub code: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    verb: String,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
struct ObjectRef {
    #[serde(default)]
    resource: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

/// The write that one line of an audit log records; `None` for reads, for other stages and for what is left out.
fn parse_line(line: &str) -> Result<Option<Write>> {
    let event: Event = serde_json::from_str(line).context("an audit line is not an audit event")?;
    let write = matches!(
        event.verb.as_str(),
        "create" | "update" | "patch" | "delete" | "deletecollection"
    );
    let Some(target) = event.object_ref.filter(|_| write && event.stage == "ResponseComplete")
    else {
        return Ok(None);
    };
    let resource = match target.subresource.as_str() {
        "" => target.resource,
        subresource => format!("{}/{subresource}", target.resource),
    };
    if matches!(resource.as_str(), "leases" | "events" | "internalmemberclusters/status") {
        return Ok(None);
    }
    Ok(Some(Write {
        user: event.user.username,
        verb: event.verb,
        resource,
        object: format!("{}/{}", target.namespace, target.name),
        code: event.response_status.map_or(0, |status| status.code),
    }))
}

/// Reads an audit log from where it left off.
#[derive(Debug)]
pub struct AuditReader {
    path: PathBuf,
    offset: u64,
}

impl AuditReader {
    /// Starts at the log's present end; a line that is being written counts as one to come.
    pub fn at_end(path: PathBuf) -> Result<Self> {
        /// No line is longer than the largest object and what surrounds it.
        const LINE: u64 = 4 << 20;
        let mut file = File::open(&path)
            .with_context(|| format!("there is no audit log at {}", path.display()))?;
        let begin = file.metadata()?.len().saturating_sub(LINE);
        file.seek(SeekFrom::Start(begin))?;
        let mut reader = Self { path, offset: begin };
        reader.complete_lines(file)?;
        Ok(reader)
    }

    /// The writes of all lines completed since the last call.
    pub fn read(&mut self) -> Result<Vec<Write>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let lines = self.complete_lines(file)?;
        let lines = std::str::from_utf8(&lines).context("the audit log is not UTF-8")?;
        lines.lines().filter_map(|line| parse_line(line).transpose()).collect()
    }

    /// Reads on, to the end of the last line that is whole.
    fn complete_lines(&mut self, mut file: File) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        // The server may be in the middle of a line.
        let complete = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        text.truncate(complete);
        self.offset += u64::try_from(complete)?;
        Ok(text)
    }
}

/// Numbers of writes with the same author and aim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Answered with 2xx.
    pub done: usize,
    /// Answered with 4xx.
    pub refused: usize,
    /// Answered with 5xx, or not at all.
    pub failed: usize,
}

/// Writes counted by cluster, user, verb and resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteCounts {
    by: BTreeMap<(String, String, String, String), Tally>,
}

impl WriteCounts {
    /// Adds one write in a cluster.
    pub fn add(&mut self, cluster: &str, write: &Write) {
        let Write { user, verb, resource, code, .. } = write;
        let key = (cluster.to_owned(), user.clone(), verb.clone(), resource.clone());
        let tally = self.by.entry(key).or_default();
        match code {
            200..300 => tally.done += 1,
            400..500 => tally.refused += 1,
            _ => tally.failed += 1,
        }
    }

    /// All writes answered with 2xx.
    pub fn done(&self) -> usize {
        self.by.values().map(|tally| tally.done).sum()
    }

    /// All writes answered with 4xx.
    pub fn refused(&self) -> usize {
        self.by.values().map(|tally| tally.refused).sum()
    }

    /// All writes answered with 5xx or not at all.
    pub fn failed(&self) -> usize {
        self.by.values().map(|tally| tally.failed).sum()
    }

    /// Every count with its cluster, user, verb and resource.
    pub fn iter(&self) -> impl Iterator<Item = ([&str; 4], Tally)> {
        self.by.iter().map(|((cluster, user, verb, resource), &tally)| {
            ([cluster.as_str(), user.as_str(), verb.as_str(), resource.as_str()], tally)
        })
    }
}

impl fmt::Display for WriteCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ([cluster, user, verb, resource], tally) in self.iter() {
            let user = user.rsplit(':').next().unwrap_or(user);
            writeln!(
                f,
                "{:4} done {:3} refused {:3} failed  {cluster} {user} {verb} {resource}",
                tally.done, tally.refused, tally.failed
            )?;
        }
        write!(f, "{:4} done {:3} refused {:3} failed", self.done(), self.refused(), self.failed())
    }
}

/// Counts what the agents write in all clusters from its making on.
#[derive(Debug)]
pub struct WriteMeter {
    readers: Vec<(String, AuditReader)>,
    agents: BTreeSet<String>,
    about: Option<String>,
    counts: WriteCounts,
    writes: Vec<(String, Write)>,
}

impl WriteMeter {
    /// Starts counting now. An error where a cluster has no audit log.
    pub fn start(fleet: &Fleet) -> Result<Self> {
        let readers = fleet.clusters().map(|cluster| {
            let path = cluster.audit_log_path();
            let path = path.with_context(|| format!("{} writes no audit log", cluster.name()))?;
            anyhow::Ok((cluster.name().to_owned(), AuditReader::at_end(path)?))
        });
        let readers = readers.collect::<Result<_>>()?;
        let members = fleet.members().iter().map(|member| rbac::member_on_hub(member.name()));
        let accounts = [rbac::hub_agent(), rbac::member_agent()].into_iter().chain(members);
        let agents = accounts.map(|account| account.user()).collect();
        let (counts, writes) = (WriteCounts::default(), Vec::new());
        Ok(Self { readers, agents, about: None, counts, writes })
    }

    /// Counts only writes to objects whose namespace or name holds `text`: what is made for a user's namespace bears
    /// its name everywhere. For tests beside which others run.
    #[must_use]
    pub fn about(self, text: &str) -> Self {
        Self { about: Some(text.to_owned()), ..self }
    }

    /// Everything the agents have written so far.
    pub fn counts(&mut self) -> Result<&WriteCounts> {
        for (cluster, reader) in &mut self.readers {
            for write in reader.read()? {
                let meant = self.about.as_ref().is_none_or(|text| write.object.contains(text));
                if meant && self.agents.contains(&write.user) {
                    self.counts.add(cluster, &write);
                    self.writes.push((cluster.clone(), write));
                }
            }
        }
        Ok(&self.counts)
    }

    /// The single writes that [`Self::counts`] has counted, with their cluster; in order within a cluster.
    pub fn writes(&self) -> &[(String, Write)] {
        &self.writes
    }

    /// Forgets what was counted, and returns it.
    pub fn take(&mut self) -> Result<WriteCounts> {
        self.counts()?;
        self.writes.clear();
        Ok(std::mem::take(&mut self.counts))
    }

    /// Waits until no agent has written anything for `quiet`: what happened before has had all its effects.
    pub async fn wait_quiet(&mut self, quiet: Duration, deadline: Duration) -> Result<()> {
        let begin = Instant::now();
        let mut last = (self.counts()?.clone(), begin);
        while last.1.elapsed() < quiet {
            if begin.elapsed() > deadline {
                bail!("the agents still write after {deadline:?}:\n{}", last.0);
            }
            tokio::time::sleep(quiet / 10).await;
            if *self.counts()? != last.0 {
                last = (self.counts.clone(), Instant::now());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use serde_json::{Value, json};

    use super::*;

    fn event(verb: &str, resource: &str, subresource: &str, code: u16) -> Value {
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
            "stage": "ResponseComplete", "verb": verb, "user": { "username": "agent" },
            "objectRef": {
                "resource": resource, "subresource": subresource, "namespace": "n", "name": "o",
            },
            "responseStatus": { "code": code },
        })
    }

    fn parse(event: &Value) -> Option<Write> {
        parse_line(&event.to_string()).unwrap()
    }

    #[test]
    fn a_write_is_counted_with_its_subresource() {
        let write = parse(&event("patch", "serviceimports", "status", 200)).unwrap();
        assert_eq!(write.resource, "serviceimports/status");
        assert_eq!((write.verb.as_str(), write.object.as_str(), write.code), ("patch", "n/o", 200));
    }

    #[test]
    fn reads_other_stages_leases_events_and_heartbeats_are_left_out() {
        assert_eq!(parse(&event("get", "services", "", 200)), None);
        assert_eq!(parse(&event("watch", "services", "", 200)), None);
        assert_eq!(parse(&event("update", "leases", "", 200)), None);
        assert_eq!(parse(&event("create", "events", "", 201)), None);
        assert_eq!(parse(&event("update", "internalmemberclusters", "status", 200)), None);
        assert!(parse(&event("update", "internalmemberclusters", "", 200)).is_some());
        let mut early = event("create", "services", "", 201);
        early["stage"] = "ResponseStarted".into();
        assert_eq!(parse(&early), None);
    }

    #[test]
    fn refusals_are_counted_apart() {
        let mut counts = WriteCounts::default();
        for code in [200, 201, 409, 503] {
            counts.add("hub", &parse(&event("update", "services", "", code)).unwrap());
        }
        assert_eq!((counts.done(), counts.refused(), counts.failed()), (2, 1, 1));
        assert!(counts.to_string().contains("hub agent update services"));
    }

    #[test]
    fn half_a_line_is_read_later() {
        let path = std::env::temp_dir().join(format!("fleet-audit-test-{}", std::process::id()));
        let line = format!("{}\n", event("create", "services", "", 201));
        std::fs::write(&path, &line).unwrap();
        let mut reader = AuditReader::at_end(path.clone()).unwrap();
        assert_eq!(reader.read().unwrap(), []);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        let (begin, rest) = line.split_at(30);
        file.write_all(begin.as_bytes()).unwrap();
        assert_eq!(reader.read().unwrap(), []);
        let mut late = AuditReader::at_end(path.clone()).unwrap();
        assert_eq!(late.read().unwrap(), []);
        file.write_all(rest.as_bytes()).unwrap();
        for reader in [&mut reader, &mut late] {
            assert_eq!(reader.read().unwrap().len(), 1);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
