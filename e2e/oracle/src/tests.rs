//! The oracle can fail: a clean story has no violation, and each seeded one is found under its own name.

mod leadership;
mod local_slices;
mod seeds;
mod standard;
mod story;
mod traffic;

use std::collections::BTreeSet;

use fleet_api::{annotations, kinds};
use serde_json::{Value, json};

use super::history::{DOUBLES, History};
use super::{Verdict, judge, stories};
use seeds::Seed;
use story::{HUB, Story, TEAM, USER, WEB, agent};

/// What the oracle answers for.
const INVARIANTS: [&str; 42] = [
    "S01", "S02", "S03", "S04", "S05", "S06", "S07", "S08", "S09", "S10", "S11", "S12", "S13",
    "S14", "S15", "S16", "S17", "S18", "S22", "S23", "S24", "S25", "S26", "S27", "S28", "S29",
    "S31", "S33", "S34", "S35", "S36", "S37", "S38", "S39", "L1", "L2", "L3", "L4", "L5", "L6",
    "L8", "L9",
];

#[test]
fn a_clean_story_has_no_violation() {
    let mut story = Story::exchange();
    story.change();
    story.withdraw();
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
    assert!(verdict.moments >= 3, "{verdict}");
}

/// The address of a Service that was deleted a moment ago: the API server has the last word, so it is asked again.
#[test]
fn an_address_that_is_not_free_yet_is_asked_for_again() {
    let mut story = Story::exchange();
    let derived = json!({ "metadata": { "namespace": TEAM, "name": "derived-0123456789" } });
    let mut request = story.request(&agent("b"), "b", kinds::SERVICE, &derived);
    request.verb = "create".to_owned();
    request.code = 422;
    request.message = "Service \"derived-0123456789\" is invalid: spec.clusterIPs: Invalid value: \
        [\"10.96.0.9\"]: failed to allocate IP 10.96.0.9: provided IP is already allocated"
        .to_owned();
    story.recording.requests.extend([request.clone(), request]);
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
}

/// The audit log does not show which write removed an object; the making of the next one of that name did not.
#[test]
fn a_successor_does_not_answer_for_the_removal() {
    let mut story = Story::exchange();
    story.withdraw();
    story.export();
    // Later than the making, earlier than the next write.
    story.saw_late(kinds::INTERNAL_SERVICE_EXPORT, 70_000);
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
}

/// What a killed agent had under way arrives when its successor has already looked.
#[test]
fn a_write_under_way_has_had_no_effect_yet() {
    #[derive(PartialEq)]
    enum Made {
        Before,
        UnderWay,
        Overtaken,
    }
    let released_early = |made: Made| {
        let mut story = Story::exchange();
        story.delete(&USER, "a", kinds::SERVICE_EXPORT, (TEAM, WEB));
        if made == Made::Overtaken {
            story.looked_in_vain(&agent("a"), kinds::INTERNAL_SERVICE_EXPORT);
        }
        story.free(&agent("a"), "a", kinds::SERVICE_EXPORT, (TEAM, WEB));
        if made == Made::UnderWay {
            story.answered_last(kinds::INTERNAL_SERVICE_EXPORT);
        }
        let violations = judge(&story.end()).violations;
        violations.iter().any(|violation| violation.invariant == "S14")
    };
    assert!(released_early(Made::Before));
    assert!(!released_early(Made::UnderWay));
    assert!(!released_early(Made::Overtaken));
}

/// An agent that looks again because of a change has to try what was refused before it, too.
#[test]
fn a_change_is_a_reason_to_send_again_what_was_refused() {
    let sent_again = |changed: bool| {
        let mut story = Story::exchange();
        let export = story.slice_export();
        let refuse = |story: &mut Story| {
            let kind = kinds::ENDPOINT_SLICE_EXPORT;
            let mut request = story.request(&agent("a"), "hub", kind, &export);
            (request.code, request.message) = (422, "it is invalid".to_owned());
            story.recording.requests.push(request);
        };
        refuse(&mut story);
        story.pause();
        if changed {
            let labelled = |export: &mut Value| export["metadata"]["labels"] = json!({ "a": "b" });
            story.edit(&USER, "a", kinds::SERVICE_EXPORT, (TEAM, WEB), labelled);
        }
        refuse(&mut story);
        let violations = judge(&story.end()).violations;
        violations.iter().any(|violation| violation.invariant == "S26")
    };
    assert!(sent_again(false));
    assert!(!sent_again(true));
}

/// While a server is away its watches are, too. What a later list lacks went before what was written after it.
#[test]
fn a_removal_that_only_a_list_has_shown_has_its_place_in_the_order() {
    let mut story = Story::exchange();
    story.withdraw();
    story.missed(kinds::ENDPOINT_SLICE_IMPORT);
    story.pause();
    story.leave("b");
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
}

/// The agent was killed before the answer to the write that let the import go; one of its earlier writes has left the
/// import without a finalizer as well, and has an answer.
#[test]
fn a_removal_without_an_answer_is_not_put_down_to_an_earlier_write() {
    let mut story = Story::exchange();
    let imports = kinds::SERVICE_IMPORT;
    let name = (TEAM, WEB);
    let claimed = story.get("hub", imports, name);
    let unclaim = |import: &mut Value| {
        import["metadata"]["annotations"] = json!({});
        import["metadata"]["finalizers"] = json!([]);
    };
    story.edit(&HUB, "hub", imports, name, unclaim);
    story.edit(&HUB, "hub", imports, name, |import| {
        import["metadata"]["finalizers"] = claimed["metadata"]["finalizers"].clone();
        import["metadata"]["annotations"] = claimed["metadata"]["annotations"].clone();
    });
    story.delete(&HUB, "hub", imports, name);
    story.edit(&HUB, "hub", imports, name, unclaim);
    let last = story.recording.requests.last_mut().unwrap();
    (last.verb, last.code, last.response) = ("patch".to_owned(), 504, Value::Null);
    last.body = json!([{ "op": "remove", "path": annotations::SERVICE_IN_USE_BY }]);
    let violations = judge(&story.end()).violations;
    assert!(violations.iter().all(|violation| violation.invariant != "S14"), "{violations:?}");
}

/// What a member agent makes for a Service of its own cluster crosses no border.
#[test]
fn a_slice_of_machines_is_in_its_place() {
    let mut story = Story::exchange();
    local_slices::make(&mut story);
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
}

/// Beside the other API, and on the same Service.
#[test]
fn an_import_of_the_standard_api_is_in_its_place() {
    let mut story = Story::exchange();
    standard::make(&mut story);
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
}

/// What goes to and fro because a user does is no oscillation of L4.
#[test]
fn what_users_bring_back_may_come_back() {
    let mut story = Story::exchange();
    story.go_to_and_fro();
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
}

/// An agent beside another, without election, may be late.
#[test]
fn only_one_of_each_agent_answers_for_the_order_of_things() {
    let released_early = |marks: &[&str]| {
        let mut story = Story::exchange();
        for mark in marks {
            story.mark(mark);
        }
        story.delete(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, seeds::COPY);
        story.free(&agent("b"), "hub", kinds::ENDPOINT_SLICE_IMPORT, seeds::COPY);
        judge(&story.end()).violations.iter().any(|violation| violation.invariant == "S14")
    };
    assert!(released_early(&[]));
    assert!(!released_early(&DOUBLES[..1]));
    assert!(released_early(&DOUBLES));
}

/// What came and went between two lists of the recorder is known from the answers alone, its end too.
#[test]
fn what_only_answers_tell_of_ends_with_them() {
    let mut story = Story::exchange();
    story.withdraw();
    story.blind("a", kinds::SERVICE_EXPORT);
    let recording = story.end().with_answers();
    let history = History::new(&recording);
    let mut exports = history.of_kind("a", kinds::SERVICE_EXPORT);
    assert!(exports.next().unwrap().versions.last().unwrap().is_end());
    let verdict = judge(&recording);
    assert_eq!(verdict.violations, [], "{verdict}");
}

/// The log of a run has the cause, too.
#[test]
fn a_violation_is_told_with_what_led_to_it() {
    let mut story = Story::exchange();
    story.delete(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, seeds::COPY);
    story.free(&agent("b"), "hub", kinds::ENDPOINT_SLICE_IMPORT, seeds::COPY);
    let recording = story.end();
    let verdict = judge(&recording);
    let mut violations = verdict.violations.into_iter();
    let early = violations.find(|violation| violation.invariant == "S14").unwrap();
    let verdict = Verdict { violations: vec![early], ..Verdict::default() };
    let told = stories(&recording, &verdict);
    let lines: Vec<&str> = told.lines().collect();
    let [violation, .., deleted, released] = lines[..] else { panic!("{told}") };
    assert!(violation.starts_with("S14 hub: EndpointSliceImport"), "{told}");
    assert!(deleted.contains("terminating") && deleted.contains("Hub delete"), "{told}");
    assert!(
        released.contains("+0.000000 s") && released.contains("Member(\"b\") update"),
        "{told}"
    );
}

fn seeds() -> impl Iterator<Item = Seed> {
    let general = seeds::SEEDS.into_iter().chain(seeds::UNTRUTHS);
    general
        .chain(local_slices::SEEDS)
        .chain(leadership::SEEDS)
        .chain(standard::SEEDS)
        .chain(traffic::SEEDS)
}

#[test]
fn every_seeded_violation_is_found() {
    for (invariant, what, seed) in seeds() {
        let mut story = Story::exchange();
        seed(&mut story);
        let verdict = judge(&story.end());
        let found = verdict.violations.iter().any(|violation| violation.invariant == invariant);
        assert!(found, "{invariant}, {what}:\n{verdict}");
    }
}

#[test]
fn every_invariant_has_a_seed() {
    let seeded: BTreeSet<&str> = seeds().map(|(invariant, ..)| invariant).collect();
    assert_eq!(seeded, BTreeSet::from(INVARIANTS));
}
