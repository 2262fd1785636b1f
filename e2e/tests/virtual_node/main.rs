//! Pods of one member in another, on real control planes. No kubelet is there: a node of the executor is played.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod churn;
mod crossing;
mod cuts;
mod hub;
mod parts;
mod story;

use anyhow::Result;
use fleet_testbed::turn::turn;
use fleet_testbed::{Options, Testbed};

async fn play(options: Options, story: impl AsyncFnOnce(&Testbed) -> Result<()>) {
    let _turn = turn().await;
    let testbed = Testbed::start(options).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_a_deployment_run_in_another_member() {
    play(Options::members(2).with_deployments(), story::story).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_survive_a_hub_that_is_restored() {
    play(Options::members(2), hub::story).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_pods_elsewhere_is_imported_everywhere() {
    play(Options::members(3).with_deployments().with_policies(), crossing::story).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "four minutes, in which links are cut: make soak-offload"]
async fn pods_outlive_a_cut_unless_they_are_to_end() {
    play(Options::members(2).with_node_failures(cuts::TOLERATED), cuts::story).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes, in which Pods come and go, links are cut and agents killed: make soak-offload"]
async fn churn_leaves_no_orphan_and_no_duplicate() {
    play(Options::members(2).without_audit(), churn::story).await;
}
