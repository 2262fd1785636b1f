use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::ObjectName;
use fleet_traffic::{Conditions, Encoding, Found, Policy, Slot};

use crate::traffic::exporter::Exporter;
use crate::traffic::pool::{Answer, PooledEndpoint, PooledSlice, Protocol, Question, States};

struct Pool {
    exporters: BTreeMap<String, Exporter>,
    executors: BTreeMap<String, Exporter>,
    slices: Vec<PooledSlice>,
    encoding: Encoding,
}

fn exporter(own: bool, rank: usize) -> Exporter {
    Exporter { own, rank: Some(rank), weight: 1, ..Exporter::default() }
}

fn slice(cluster: &str, ports: &[&str], ready: &[&str], draining: &[&str]) -> PooledSlice {
    let endpoint = |address: &&str, conditions| PooledEndpoint {
        address: (*address).to_owned(),
        conditions,
        executor: None,
    };
    let ready = ready.iter().map(|it| endpoint(it, Conditions::READY));
    let draining = draining.iter().map(|it| endpoint(it, Conditions::DRAINING));
    PooledSlice {
        cluster: cluster.to_owned(),
        family: Protocol::V4,
        ports: ports.iter().map(|it| (*it).to_owned()).collect(),
        endpoints: ready.chain(draining).collect(),
    }
}

impl Pool {
    /// Own endpoints come first.
    fn local_first(slices: Vec<PooledSlice>) -> Self {
        let exporters = [("west", exporter(true, 0)), ("east", exporter(false, 1))];
        let exporters = exporters.map(|(name, exporter)| (name.to_owned(), exporter)).into();
        Self { exporters, executors: BTreeMap::new(), slices, encoding: Encoding::Hints }
    }

    fn answer(&self, before: &States, seconds: u64) -> Answer {
        let service = ObjectName::new("shop", "web");
        let question = Question {
            importer: "west",
            service: &service,
            encoding: self.encoding,
            policy: Policy::default(),
            exporters: &self.exporters,
            executors: &self.executors,
            slices: &self.slices,
            found: &Found::default(),
        };
        question.answer(before, Duration::from_secs(seconds))
    }

    fn slots(&self) -> Vec<Vec<Slot>> {
        let answer = self.answer(&States::new(), 0);
        answer.placed.iter().map(|all| all.iter().map(|it| it.slot).collect()).collect()
    }
}

#[test]
fn ranks_follow_exporters_and_not_slices() {
    let pool = Pool::local_first(vec![slice("east", &["http"], &["10.1.0.1"], &[])]);
    assert_eq!(pool.slots(), [[Slot::Second]], "the own cluster has no slice now");
    let mut alone = pool;
    alone.exporters.remove("west");
    assert_eq!(alone.slots(), [[Slot::Pool]]);
}

/// kube-controller-manager leaves a slice without ports when the last Pod goes.
#[test]
fn an_empty_slice_without_ports_changes_nothing() {
    let pool = Pool::local_first(vec![
        slice("west", &[], &[], &[]),
        slice("east", &["http"], &["10.1.0.1"], &[]),
    ]);
    assert_eq!(pool.slots(), [vec![], vec![Slot::Second]]);
}

#[test]
fn a_port_that_the_own_cluster_withholds_has_one_rank() {
    let mut pool = Pool::local_first(vec![
        slice("west", &["http"], &["10.0.0.1"], &[]),
        slice("east", &["http"], &["10.1.0.1"], &[]),
        slice("east", &["admin"], &["10.1.0.2"], &[]),
        slice("east", &["admin", "http"], &["10.1.0.3"], &[]),
    ]);
    pool.exporters.get_mut("west").unwrap().withheld.insert("admin".to_owned());
    let expected = [Slot::First, Slot::Second, Slot::Pool, Slot::Second];
    assert_eq!(pool.slots().concat(), expected);
}

#[test]
fn an_address_in_two_slices_has_one_place() {
    let pool = Pool::local_first(vec![
        slice("west", &["http"], &["10.0.0.1"], &[]),
        slice("west", &["http"], &["10.0.0.1"], &[]),
        slice("east", &["http"], &["10.1.0.1"], &[]),
    ]);
    let answer = pool.answer(&States::new(), 0);
    assert_eq!(pool.slots().concat(), [Slot::First, Slot::First, Slot::Second]);
    assert_eq!(answer.first.unwrap().sources[1].endpoints.len(), 1);
}

#[test]
fn each_family_is_decided_for_itself() {
    let mut six = slice("east", &["http"], &["fd00::1"], &[]);
    six.family = Protocol::V6;
    let mut own = slice("west", &["http"], &[], &[]);
    own.family = Protocol::V6;
    let mut pool = Pool::local_first(vec![
        slice("west", &["http"], &["10.0.0.1"], &[]),
        slice("east", &["http"], &["10.1.0.1"], &[]),
        six,
        own,
    ]);
    pool.encoding = Encoding::Conditions;
    let mut states = States::new();
    for second in 0..3 {
        states = pool.answer(&states, second).states;
    }
    let answer = pool.answer(&states, 3);
    let slots: Vec<_> = answer.placed.concat().iter().map(|it| it.slot).collect();
    assert_eq!(slots, [Slot::Pool, Slot::LastResort, Slot::Pool], "promoted for IPv6 alone");
    assert!(answer.is_promoted());
}

/// Two ports of the same endpoints, of which one was promoted before: each keeps its own memory.
#[test]
fn each_port_remembers_its_own() {
    let mut pool = Pool::local_first(vec![slice("east", &["http", "x"], &["10.1.0.1"], &[])]);
    pool.encoding = Encoding::Conditions;
    let first = pool.answer(&States::new(), 0);
    assert_eq!(first.states.len(), 2);
    assert_eq!(first.again_at, Some(Duration::from_secs(1)));
    let mut only = first.states.clone();
    only.retain(|(_, port), _| port == "http");
    let second = pool.answer(&only, 1);
    let promoted =
        |port: &str| second.states[&(Protocol::V4, port.to_owned())].promoted().is_some();
    assert!(promoted("http") && !promoted("x"));
    assert_eq!(second.placed.concat()[0].slot, Slot::Pool, "the better of both");
}

#[test]
fn unready_endpoints_count_and_have_no_place() {
    let mut pool = Pool::local_first(vec![
        slice("west", &["http"], &["10.0.0.1"], &["10.0.0.2"]),
        slice("east", &["http"], &["10.1.0.1"], &[]),
    ]);
    pool.exporters.get_mut("west").unwrap().unready = 3;
    let answer = pool.answer(&States::new(), 0);
    let own = answer.first.unwrap().sources.into_iter().find(|it| it.own).unwrap();
    assert_eq!(own.endpoints.len(), 5);
    assert_eq!(answer.placed.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
}

/// Any drain, verdict and readiness: while an exporter offers an endpoint, one is bound at once, and one is ready after a second.
#[test]
fn no_service_is_left_without_endpoints() {
    let readiness: [&[&str]; 3] = [&[], &["10.9.0.1"], &["10.9.0.1", "10.9.0.2"]];
    let percents = [0, 10, 50, 100];
    for encoding in [Encoding::Hints, Encoding::Conditions] {
        for case in 0..(3 * 3 * 3 * 4 * 4 * 4) {
            let pick = |at: u32, base: usize| (case / 12_usize.pow(at)) % base;
            let (exporters, executors) = (BTreeMap::new(), BTreeMap::new());
            let mut pool = Pool { exporters, executors, slices: Vec::new(), encoding };
            for (at, name) in ["west", "east", "north"].into_iter().enumerate() {
                let at32 = u32::try_from(at).unwrap();
                let mut exporter = exporter(at == 0, at);
                exporter.last_resort_percent = percents[(pick(at32, 12)) / 3];
                pool.exporters.insert(name.to_owned(), exporter);
                let ready = readiness[pick(at32, 12) % 3];
                pool.slices.push(slice(name, &["http"], ready, &[]));
            }
            let offered = pool.slices.iter().any(|slice| !slice.endpoints.is_empty());
            let first = pool.answer(&States::new(), 0);
            let bound = first.placed.concat().iter().any(|it| it.slot != Slot::Out);
            assert_eq!(bound, offered, "case {case}");
            let later = pool.answer(&first.states, 1);
            let ready = later.placed.concat().iter().any(|it| it.slot.is_ready());
            assert_eq!(ready, offered, "case {case}");
        }
    }
}
