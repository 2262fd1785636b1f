//! Which of the agents has written, as the API servers saw it.

use anyhow::{Context, Result, ensure};
use fleet_testbed::audit::{AuditReader, Write};
use fleet_testbed::{Testbed, rbac};

use crate::replicas::REPLICAS;

/// The audit logs of all clusters from its making on.
pub(crate) struct Audit {
    readers: Vec<AuditReader>,
    writes: Vec<Write>,
    /// What each of the agents is called, in its own cluster and on the hub.
    users: [[String; 2]; REPLICAS],
}

impl Audit {
    pub(crate) fn start(testbed: &Testbed) -> Result<Self> {
        let readers = testbed.clusters().map(|cluster| {
            AuditReader::at_end(cluster.audit_log_path().context("an audit log is written")?)
        });
        let accounts = [rbac::member_agent(), rbac::member_on_hub(testbed.member(0).name())];
        let users = std::array::from_fn(|number| {
            accounts.each_ref().map(|account| account.replica(number).user())
        });
        Ok(Self { readers: readers.collect::<Result<_>>()?, writes: Vec::new(), users })
    }

    /// An error if this one has deleted anything since.
    pub(crate) fn ensure_nothing_deleted(&mut self, by: usize) -> Result<()> {
        for reader in &mut self.readers {
            self.writes.extend(reader.read()?);
        }
        let deletions = self.writes.iter().filter(|write| write.verb == "delete");
        let deletions: Vec<_> =
            deletions.filter(|write| self.users[by].contains(&write.user)).collect();
        ensure!(deletions.is_empty(), "it has deleted what it has not seen: {deletions:#?}");
        Ok(())
    }

    /// An error unless this one has written since, and the others have not even tried to.
    pub(crate) fn ensure_only(&mut self, writer: usize) -> Result<()> {
        for reader in &mut self.readers {
            self.writes.extend(reader.read()?);
        }
        let of = |who: usize| {
            let users = &self.users[who];
            self.writes.iter().filter(|write| users.contains(&write.user)).collect::<Vec<_>>()
        };
        ensure!(!of(writer).is_empty(), "the one that leads has written nothing");
        for silent in (0..REPLICAS).filter(|&who| who != writer) {
            ensure!(of(silent).is_empty(), "another has written: {:#?}", of(silent));
        }
        Ok(())
    }
}
