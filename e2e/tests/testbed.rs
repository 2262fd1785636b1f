//! The testbed itself, on real control planes.

use std::time::Instant;

use fleet_e2e::testbed::{Options, Testbed};

#[tokio::test(flavor = "multi_thread")]
async fn a_testbed_starts_and_leaves_nothing() {
    let begin = Instant::now();
    let testbed = Testbed::start(Options::members(1)).await.unwrap();
    eprintln!("started in {:?}", begin.elapsed());
    drop(testbed);
}
