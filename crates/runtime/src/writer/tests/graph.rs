use fleet_plan::Plan;

use super::*;

fn named(name: &str) -> Step {
    Step { name: ObjectName::new("team", name), ..confirm() }
}

/// Which object a GET is about.
fn target(request: &Received) -> String {
    request.uri.rsplit('/').next().unwrap().to_owned()
}

/// "Not found", which is what [`confirm`] wants.
fn succeed(request: Received) {
    let name = target(&request);
    request.answer(404, &failure(404, "NotFound", &json!({"name": name})));
}

fn fail(request: Received) {
    request.answer(500, &failure(500, "Oops", &json!({})));
}

/// Lets everything that can go on go on.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn nothing_to_do_is_done() {
    let bench = Bench::new();
    let outcome = bench.writer.execute(&[], &bench.cancel).await;
    assert!(outcome.failures.is_empty() && outcome.acknowledged.is_empty());
}

#[tokio::test]
async fn independent_steps_go_at_once() {
    let mut bench = Bench::new();
    let outcome = bench.start(vec![named("a"), named("b")]);
    let (first, second) = (bench.receive().await, bench.receive().await);
    assert_eq!((target(&first), target(&second)), ("a".to_owned(), "b".to_owned()));
    // Answers may come in any order.
    succeed(second);
    succeed(first);
    assert_eq!(outcome.await.unwrap().acknowledged.len(), 2);
}

#[tokio::test]
async fn a_step_waits_for_all_it_depends_on() {
    let mut bench = Bench::new();
    let mut plan: Plan = Plan::default();
    let a = plan.push(named("a"));
    let b = plan.push(named("b"));
    plan.push(named("c").after([a, b]));
    let outcome = bench.start(plan.steps);
    let (first, second) = (bench.receive().await, bench.receive().await);
    succeed(second);
    settle().await;
    assert!(bench.is_idle());
    succeed(first);
    let third = bench.receive().await;
    assert_eq!(target(&third), "c");
    succeed(third);
    assert_eq!(outcome.await.unwrap().acknowledged.len(), 3);
}

#[tokio::test]
async fn a_failed_step_stops_only_those_behind_it() {
    let mut bench = Bench::new();
    let mut plan: Plan = Plan::default();
    let a = plan.push(named("a"));
    let b = plan.push(named("b"));
    let c = plan.push(named("c").after([a]));
    plan.push(named("d").after([c]));
    plan.push(named("e").after([a, b]));
    plan.push(named("f").after([b]));
    let outcome = bench.start(plan.steps);
    fail(bench.receive().await);
    settle().await;
    succeed(bench.receive().await);
    let last = bench.receive().await;
    assert_eq!(target(&last), "f");
    succeed(last);

    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.skipped, [2, 3, 4]);
    assert_eq!(outcome.failures.len(), 1);
    let acknowledged: Vec<_> = outcome.acknowledged.iter().map(|(step, _)| *step).collect();
    assert_eq!(acknowledged, [1, 5]);
    assert!(bench.is_idle());
}

#[tokio::test]
async fn a_skipped_step_stays_skipped_when_another_dependency_succeeds() {
    let mut bench = Bench::new();
    let mut plan: Plan = Plan::default();
    let a = plan.push(named("a"));
    let b = plan.push(named("b"));
    let c = plan.push(named("c"));
    plan.push(named("d").after([a, b, c]));
    let outcome = bench.start(plan.steps);
    let requests = [bench.receive().await, bench.receive().await, bench.receive().await];
    let [first, second, third] = requests;
    fail(first);
    settle().await;
    succeed(second);
    settle().await;
    fail(third);
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.skipped, outcome.failures.len()), (vec![3], 2));
}

#[tokio::test]
async fn no_more_requests_than_allowed_are_in_flight() {
    let mut bench = Bench::new();
    let outcome = bench.start((0..20).map(|n| named(&format!("s{n}"))).collect());
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(bench.receive().await);
    }
    settle().await;
    assert!(bench.is_idle());
    succeed(open.remove(0));
    open.push(bench.receive().await);
    settle().await;
    assert!(bench.is_idle());
    open.into_iter().for_each(succeed);
    for _ in 0..3 {
        succeed(bench.receive().await);
    }
    assert_eq!(outcome.await.unwrap().acknowledged.len(), 20);
}

#[tokio::test]
async fn the_limit_holds_across_plans() {
    let mut bench = Bench::with_slots(1);
    let first = bench.start(vec![named("a")]);
    let request = bench.receive().await;
    let second = bench.start(vec![named("b")]);
    settle().await;
    assert!(bench.is_idle());
    succeed(request);
    succeed(bench.receive().await);
    assert_eq!(first.await.unwrap().failures, []);
    assert_eq!(second.await.unwrap().failures, []);
}

#[tokio::test]
async fn urgent_steps_overtake_waiting_ones() {
    let mut bench = Bench::with_slots(1);
    let outcome = bench.start(vec![named("first"), named("patient"), named("urgent").urgent()]);
    let mut order = Vec::new();
    for _ in 0..3 {
        let request = bench.receive().await;
        settle().await;
        order.push(target(&request));
        succeed(request);
    }
    assert_eq!(order, ["urgent", "first", "patient"]);
    outcome.await.unwrap();
}

#[tokio::test]
async fn a_closed_gate_lets_nothing_through() {
    let mut bench = Bench::new();
    bench.gate.close();
    let outcome = bench.writer.execute(&[named("a")], &bench.cancel).await;
    assert_eq!(outcome.failures[0].class, Class::NotLeader);
    assert!(bench.is_idle());
    bench.gate.open_until(Duration::MAX);
    let outcome = bench.start(vec![named("a")]);
    succeed(bench.receive().await);
    assert_eq!(outcome.await.unwrap().failures, []);
}

#[tokio::test]
async fn the_gate_is_asked_after_waiting_for_a_slot() {
    let mut bench = Bench::with_slots(1);
    let outcome = bench.start(vec![named("a"), named("b")]);
    let request = bench.receive().await;
    bench.gate.close();
    succeed(request);
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.acknowledged.len(), outcome.failures[0].class), (1, Class::NotLeader));
}

#[tokio::test]
async fn stopping_finishes_what_is_on_its_way_and_sends_nothing_more() {
    let mut bench = Bench::with_slots(1);
    let mut plan: Plan = Plan::default();
    let a = plan.push(named("a"));
    plan.push(named("waits"));
    plan.push(named("after").after([a]));
    let mut outcome = pin!(bench.start(plan.steps));
    let request = bench.receive().await;
    bench.cancel.cancel();
    settle().await;
    assert!(outcome.as_mut().now_or_never().is_none());
    succeed(request);
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.acknowledged.len(), 1);
    let classes: Vec<_> = outcome.failures.iter().map(|failure| failure.class).collect();
    assert_eq!(classes, [Class::Stopping, Class::Stopping]);
}
