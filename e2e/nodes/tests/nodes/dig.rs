//! DNS asked with dig, in the network of a Pod.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_nodes::dns_address::DNS_ADDRESS;
use fleet_nodes::node::Node;
use fleet_nodes::pods::Shell;

/// A Pod's network, with the DNS server of its cluster.
pub(crate) struct Dig<'a> {
    node: &'a Node,
    pod: String,
}

impl<'a> Dig<'a> {
    pub(crate) async fn beside(shell: &Shell, node: &'a Node) -> Result<Self> {
        let addresses = shell.run(&["hostname", "-i"]).await?;
        let pod = addresses.split_whitespace().next().context("an address")?.to_owned();
        Ok(Self { node, pod })
    }

    /// The records of a full name have to be these, as dig writes them in short.
    pub(crate) async fn finds(&self, kind: &str, name: &str, wanted: &[String]) -> Result<()> {
        let answer = self.ask(&format!("+short {kind} {name}.")).await?;
        let seen: BTreeSet<&str> = answer.lines().collect();
        let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
        ensure!(seen == wanted, "{kind} of {name}: {seen:?} instead of {wanted:?}");
        Ok(())
    }

    /// The name must not exist, which is more than to have no record of a kind.
    pub(crate) async fn finds_nothing(&self, name: &str) -> Result<()> {
        let answer = self.ask(&format!("A {name}.")).await?;
        ensure!(answer.contains("status: NXDOMAIN"), "{name}: {answer}");
        Ok(())
    }

    async fn ask(&self, question: &str) -> Result<String> {
        let dig = format!("dig +tries=2 +time=2 @{DNS_ADDRESS} {question}");
        self.node.run_in_pod_network(&self.pod, &dig).await
    }
}
