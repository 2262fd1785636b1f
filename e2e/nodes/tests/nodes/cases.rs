//! The 27 cases of the conformance suite of the MCS API as tests of our own, with its numbers in docs/conformance: CI needs
//! nothing from outside. What the suite does with two clusters is done here with as many as there are.

mod dns;
mod hello;
mod imports;
mod slices;
mod traffic;

use anyhow::Result;
use fleet_nodes::node::ProxyMode;
use fleet_nodes::whole::WholeFleet;
use futures::FutureExt;
use futures::future::LocalBoxFuture;

use crate::steps::Steps;
use hello::World;

/// A row: the number of the case, what it shows, and how.
type Case<'a> = (u8, &'static str, LocalBoxFuture<'a, Result<()>>);

/// The first that depends on kube-proxy.
const FIRST_OF_TRAFFIC: u8 = 24;

/// All of them; those that do not depend on kube-proxy once.
pub(crate) async fn check(fleet: &WholeFleet, mode: ProxyMode, steps: &mut Steps) -> Result<()> {
    let world = World::of(fleet).await?;
    for (number, what, case) in table(&world) {
        if number >= FIRST_OF_TRAFFIC || mode == ProxyMode::Nftables {
            steps.take(&format!("case {number:2}: {what}"), case).await?;
        }
    }
    Ok(())
}

fn table<'a>(world: &'a World<'a>) -> Vec<Case<'a>> {
    let case = |number| world.case(number);
    vec![
        (
            1,
            "an import is there as long as somebody exports",
            imports::lasts(case(1)).boxed_local(),
        ),
        (
            2,
            "labels and annotations: those exported, no others",
            imports::metadata(case(2)).boxed_local(),
        ),
        (
            3,
            "the older export's labels and annotations",
            imports::metadata_differ(case(3)).boxed_local(),
        ),
        (4, "a Service with addresses, and its end", imports::cluster_ip(case(4)).boxed_local()),
        (5, "session affinity", imports::affinity(case(5)).boxed_local()),
        (6, "internal traffic policy", imports::internal_policy(case(6)).boxed_local()),
        (7, "traffic distribution", imports::distribution(case(7)).boxed_local()),
        (8, "an address for each family", imports::families(case(8)).boxed_local()),
        (9, "ports", imports::ports(case(9)).boxed_local()),
        (10, "ports that differ are united", imports::ports_united(case(10)).boxed_local()),
        (
            11,
            "of ports of one name, the older export's",
            imports::ports_differ(case(11)).boxed_local(),
        ),
        (12, "a headless Service, and its end", imports::headless(case(12)).boxed_local()),
        (13, "a headless Service has no address", imports::no_address(case(13)).boxed_local()),
        (14, "names of elsewhere are not exported", imports::external_name(case(14)).boxed_local()),
        (15, "headless or not, as the older export", imports::types_differ(case(15)).boxed_local()),
        (16, "imported slices, and their end", slices::come_and_go(case(16)).boxed_local()),
        (17, "what is not exported does not answer", traffic::nothing(case(17)).boxed_local()),
        (18, "the name has the addresses of the import", dns::addresses(case(18)).boxed_local()),
        (19, "the name has one record of its ports", dns::ports(case(19)).boxed_local()),
        (20, "the cluster's own name is unchanged", dns::own_name(case(20)).boxed_local()),
        (21, "a headless name has the addresses of Pods", dns::headless(case(21)).boxed_local()),
        (22, "Pods have names by their host names", dns::host_names(case(22)).boxed_local()),
        (
            23,
            "a headless name has a record for each endpoint",
            dns::headless_ports(case(23)).boxed_local(),
        ),
        (
            24,
            "an exported Service answers in every cluster",
            traffic::answers(case(24)).boxed_local(),
        ),
        (
            25,
            "only the cluster that exports answers",
            traffic::one_exporter(case(25)).boxed_local(),
        ),
        (
            26,
            "a port of another number takes no traffic",
            traffic::other_number(case(26)).boxed_local(),
        ),
        (
            27,
            "each port leads to the cluster that has it",
            traffic::other_port(case(27)).boxed_local(),
        ),
    ]
}
