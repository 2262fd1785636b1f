//! The accumulator on a real API server: what its unit tests feed by hand happens here by itself. Connections break,
//! freeze and are refused, the API server restarts and forgets, rights and kinds come and go.
//!
//! Behaviours that leave the API server running share one and run side by side; the others take turns.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy takes only #[test] functions for tests"
)]

mod agents;
mod churn;
mod dead_links;
mod history;
mod kinds;
mod own_writes;
mod rights;
mod start;
mod support;

use fleet_testbed::{Options, Testbed};
use support::Report;

#[tokio::test(flavor = "multi_thread")]
async fn rights_kinds_and_links_come_and_go() {
    support::logs();
    let testbed = Testbed::start(Options::members(0)).await.unwrap();
    let hub = testbed.hub();
    let report = Report::default();
    tokio::join!(
        report.run("refused at start", rights::refused_at_start(hub)),
        report.run("revoked while live", rights::revoked_while_live(hub)),
        report.run("list without watch", rights::list_without_watch(hub)),
        report.run("kinds come and go", kinds::kinds_come_and_go(hub)),
        report.run("frozen link", dead_links::a_frozen_link_is_stale(hub)),
        report.run("stranded watch", dead_links::a_stranded_watch_is_replaced(hub)),
        report.run("own writes", own_writes::own_writes_are_waited_for(hub)),
    );
    report.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_restarts_and_forgets() {
    support::logs();
    let testbed = Testbed::start(Options::members(0)).await.unwrap();
    let hub = testbed.hub();
    let report = Report::default();
    report.run("away at start", start::away_at_start(hub)).await;
    report.run("forgotten, unchanged", history::forgotten_and_unchanged(hub)).await;
    report.run("forgotten, changed", history::forgotten_and_changed(hub)).await;
    report.run("forgotten, much gone", history::forgotten_and_much_gone(hub)).await;
    report.run("recreated while shut", history::recreated_while_shut(hub)).await;
    report.run("churn", churn::churn(hub)).await;
    report.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_keep_what_is_there() {
    support::logs();
    let testbed = Testbed::start(Options::members(2)).await.unwrap();
    agents::agents_keep_what_is_there(&testbed).await;
}
