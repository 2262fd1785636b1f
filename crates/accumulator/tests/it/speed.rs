//! How fast it is. Run with `--release --ignored --nocapture`; the numbers are printed.

use std::time::{Duration, Instant};

use crate::support::{Rig, local, thing};

#[test]
#[ignore = "measures; run it in release mode"]
fn from_event_to_consumer() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut times = runtime.block_on(runtime.spawn(async {
        let mut rig = Rig::new();
        let mut cursor = rig.accumulator.cursor(local());
        let tap = rig.things.tap().await;
        tap.list((0..20_000).map(|number| {
            let name = format!("thing-{number}");
            thing(&name, &name, number + 1, "x")
        }));
        let step = cursor.next().await.unwrap();
        cursor.commit(step);
        let mut times = Vec::new();
        for number in 0..5_000_u64 {
            tokio::time::sleep(Duration::from_micros(300)).await;
            let name = format!("thing-{}", number * 7 % 20_000);
            let event = thing(&name, &name, number + 100_000, &number.to_string());
            let sent = Instant::now();
            tap.apply(event);
            let step = cursor.next().await.unwrap();
            assert_eq!(step.diff(|world| &world.things).count(), 1);
            times.push(sent.elapsed());
            cursor.commit(step);
        }
        times
    }));
    let times = times.as_mut().unwrap();
    times.sort();
    let at = |share: usize| times[times.len() * share / 1000];
    println!("event to consumer: p50 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999));
}

#[test]
#[ignore = "measures; run it in release mode"]
fn events_per_second() {
    const COUNT: u64 = 400_000;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let rate = runtime.block_on(runtime.spawn(async {
        let mut rig = Rig::new();
        let mut cursor = rig.accumulator.cursor(local());
        let tap = rig.things.tap().await;
        let event = |number: u64, version: u64| {
            let name = format!("thing-{number}");
            thing(&name, &name, version, &version.to_string())
        };
        tap.list((0..50_000).map(|number| event(number, number + 1)));
        let step = cursor.next().await.unwrap();
        cursor.commit(step);
        let events: Vec<_> =
            (0..COUNT).map(|number| event(number * 7 % 50_000, number + 100_000)).collect();
        let last = events.last().and_then(|event| event.metadata.resource_version.clone()).unwrap();
        let name = crate::support::name(&format!("thing-{}", (COUNT - 1) * 7 % 50_000));
        let began = Instant::now();
        for event in events {
            tap.apply(event);
        }
        loop {
            let step = cursor.next().await.unwrap();
            let done = step.new.things.get(&name).is_some_and(|thing| thing.text == last);
            cursor.commit(step);
            if done {
                return f64::from(u32::try_from(COUNT).unwrap()) / began.elapsed().as_secs_f64();
            }
        }
    }));
    println!("{:.0} events per second with 50 000 objects", rate.unwrap());
}
