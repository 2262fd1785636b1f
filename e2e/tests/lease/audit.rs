//! Which of the two agents has written, as the API servers saw it.

use anyhow::{Context, Result, ensure};
use fleet_e2e::audit::{AuditReader, Write};
use fleet_e2e::testbed::{Testbed, rbac};

/// The audit logs of all clusters from its making on.
pub(crate) struct Audit {
    readers: Vec<AuditReader>,
    writes: Vec<Write>,
    /// What each agent of the pair is called, in its own cluster and on the hub.
    users: [[String; 2]; 2],
}

impl Audit {
    pub(crate) fn start(testbed: &Testbed) -> Result<Self> {
        let readers = testbed.clusters().map(|cluster| {
            AuditReader::at_end(cluster.audit_log_path().context("an audit log is written")?)
        });
        let accounts = [rbac::member_agent(), rbac::member_on_hub(testbed.member(0).name())];
        let users = [
            accounts.each_ref().map(rbac::Account::user),
            accounts.each_ref().map(|account| account.twin().user()),
        ];
        Ok(Self { readers: readers.collect::<Result<_>>()?, writes: Vec::new(), users })
    }

    /// An error unless one of the pair has written since, and the other has not even tried to.
    pub(crate) fn ensure_only(&mut self, writer: usize, silent: usize) -> Result<()> {
        for reader in &mut self.readers {
            self.writes.extend(reader.read()?);
        }
        let of = |who: usize| {
            let users = &self.users[who];
            self.writes.iter().filter(|write| users.contains(&write.user)).collect::<Vec<_>>()
        };
        ensure!(!of(writer).is_empty(), "the one that leads has written nothing");
        ensure!(of(silent).is_empty(), "the other has written: {:#?}", of(silent));
        Ok(())
    }
}
