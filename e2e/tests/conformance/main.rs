//! The model of an API server that tests of plans run against is honest: the same random operations, sent to it and to
//! a real API server, get the same answers and leave the same versions behind, object by object.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod defects;
mod events;
mod kinds;
mod operations;
mod real;
mod simulated;
mod tables;
mod transcript;

use fleet_testbed::{Options, Testbed};
use futures::StreamExt;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use operations::Operation;
use real::Real;
use transcript::Transcript;

const SEQUENCES: usize = 150;
/// Sequences that are sent at the same time; each has a namespace of its own.
const SIDE_BY_SIDE: usize = 4;
/// Sequences between two looks at what the watches show: seconds.
const LOOK_AFTER: usize = 25;

/// The same ones every time.
fn sequences() -> Vec<Vec<Operation>> {
    let mut runner = TestRunner::deterministic();
    let strategy = operations::sequence();
    (0..SEQUENCES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_answers_like_an_api_server() {
    let testbed = Testbed::start(Options::members(0).without_audit()).await.unwrap();
    events::are_counted_not_repeated(testbed.hub()).await.unwrap();
    tables::show_what_a_person_asks(testbed.hub()).await.unwrap();
    let mut real = Real::connect(testbed.hub()).await.unwrap();
    let sequences = sequences();
    let numbered: Vec<_> = sequences.iter().enumerate().collect();
    let mut answers = Vec::new();
    for part in numbered.chunks(LOOK_AFTER) {
        let played = futures::stream::iter(part).map(async |(number, sequence)| {
            let namespace = format!("sequence-{number}");
            real.play(&namespace, sequence).await.unwrap()
        });
        answers.extend(played.buffered(SIDE_BY_SIDE).collect::<Vec<_>>().await);
        real.look().await.unwrap();
    }
    let mut versions = real.versions();
    let mut real = Vec::new();
    for (number, answers) in answers.into_iter().enumerate() {
        let versions = versions.remove(&format!("sequence-{number}")).unwrap_or_default();
        real.push(Transcript { answers, versions });
    }

    for (number, (sequence, real)) in sequences.iter().zip(&real).enumerate() {
        let model = simulated::play(&format!("sequence-{number}"), sequence);
        if let Some(difference) = model.difference(real, sequence) {
            panic!("sequence {number}: {difference}");
        }
    }

    // A model with any of these defects would have been caught.
    for (name, defect) in defects::ALL {
        let caught = sequences.iter().zip(&real).enumerate().any(|(number, (sequence, real))| {
            let model = simulated::play(&format!("sequence-{number}"), sequence);
            defect(model).difference(real, sequence).is_some()
        });
        assert!(caught, "nothing shows that the model {name}");
    }
}
