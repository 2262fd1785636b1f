//! Questions to the DNS of a cluster with their answers, as tables. Each is asked with the resolver of a Pod, and with dig
//! in the network of that Pod.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_nodes::dns_address::DNS_ADDRESS;
use fleet_nodes::lookup::Found;
use fleet_nodes::node::Node;
use fleet_nodes::pods::Shell;
use fleet_testbed::wait::wait_for;

const DEADLINE: Duration = Duration::from_secs(30);

/// A row: the kind of records, a full name, and what DNS has to answer.
pub(crate) type Question = (&'static str, String, Found);

/// Asks for each family with its kind of record: the addresses of that family, or no data where there are none.
pub(crate) fn both_families(name: &str, addresses: &[String]) -> [Question; 2] {
    [("A", false), ("AAAA", true)].map(|(kind, colon)| {
        let own: Vec<_> =
            addresses.iter().filter(|address| address.contains(':') == colon).cloned().collect();
        let found = if own.is_empty() { Found::NoData } else { Found::records(own) };
        (kind, name.to_owned(), found)
    })
}

/// Questions for names that must not exist, which is more than to have no record of a kind.
pub(crate) fn no_such_names(names: &[&str]) -> impl Iterator<Item = Question> {
    names.iter().map(|name| ("A", (*name).to_owned(), Found::NoName))
}

/// Who asks: a Pod.
pub(crate) struct Asker<'a> {
    shell: &'a Shell,
    node: &'a Node,
    address: String,
}

impl<'a> Asker<'a> {
    /// A Pod on this node.
    pub(crate) async fn new(shell: &'a Shell, node: &'a Node) -> Result<Self> {
        let addresses = shell.run(&["hostname", "-i"]).await?;
        let address = addresses.split_whitespace().next().context("an address")?.to_owned();
        Ok(Self { shell, node, address })
    }

    /// Waits until each question has the answer of its row, both ways.
    pub(crate) async fn ask(&self, table: &[Question]) -> Result<()> {
        for (kind, name, wanted) in table {
            let check = |found: Found| -> Result<Option<()>> {
                ensure!(found == *wanted, "it is {found:?}");
                Ok(Some(()))
            };
            let what = format!("{kind} of {name} is {wanted:?}");
            wait_for(&format!("{what}, by the resolver of a Pod"), DEADLINE, async || {
                check(self.shell.lookup(kind, name).await?)
            })
            .await?;
            wait_for(&format!("{what}, by dig"), DEADLINE, async || {
                check(self.dig(kind, name).await?)
            })
            .await?;
        }
        Ok(())
    }

    async fn dig(&self, kind: &str, name: &str) -> Result<Found> {
        let dig =
            format!("dig +tries=2 +time=2 +noall +comments +answer @{DNS_ADDRESS} {kind} {name}.");
        Found::of_dig(&self.node.run_in_pod_network(&self.address, &dig).await?)
    }
}
