//! What the oracle is asked: the whole history of a plan.

use fleet_api::{ResourceKind, kinds};
use fleet_oracle::Recording;
use fleet_oracle::record::{END, Event, Mark, Micros, What};
use fleet_oracle::requests::Author;
use serde_json::{Value, json};

use crate::base::member_name;
use crate::fleet::SIGNS_OF_LIFE;
use crate::servers::{Server, Servers};
use crate::world::World;

/// Between two writes.
const STEP: Micros = 1_000;
/// Longer than the oracle takes for a fleet to be at rest.
const REST: Micros = 10_000_000;

/// What a record begins with.
pub(crate) struct Start {
    /// All objects of each server.
    objects: Vec<Vec<(ResourceKind, Value)>>,
    /// The number of the first change after that.
    number: u64,
}

impl Start {
    /// As the servers are.
    pub(crate) fn of(servers: &Servers) -> Self {
        let all = |server: &Server| {
            let all = server.model.all_objects();
            all.map(|(kind, _, object)| (kind, object.clone())).collect()
        };
        Self { objects: servers.0.iter().map(all).collect(), number: servers.number() }
    }
}

/// The record of a plan since then: of one store of the hub.
pub(crate) fn of(start: &Start, world: &World) -> Recording {
    let mut recording = Recording::default();
    let mut now = 0;
    for (at, objects) in start.objects.iter().enumerate() {
        for (kind, object) in objects {
            now += STEP;
            recording.note(now, Author::Other, *kind, event(at, What::Found, object.clone()));
        }
    }
    let mut changes = Vec::new();
    for (at, server) in world.fleet.env.servers.0.iter().enumerate() {
        let all = server.changes().iter().zip(&server.authors).zip(&server.numbers);
        changes.extend(all.map(|((change, author), number)| (*number, at, change, author)));
    }
    changes.retain(|(number, ..)| *number >= start.number);
    changes.sort_by_key(|(number, ..)| *number);
    let rests = world.rests.iter().skip_while(|rest| **rest <= start.number);
    let mut rests = rests.peekable();
    let absences = world.fleet.env.absences.iter();
    let mut absences = absences.skip_while(|asked| asked.number < start.number).peekable();
    for (number, at, change, author) in changes {
        if SIGNS_OF_LIFE.contains(&change.kind) {
            continue; // So many that time would pass by them.
        }
        while rests.next_if(|rest| **rest <= number).is_some() {
            now += REST;
        }
        while let Some(asked) = absences.next_if(|asked| asked.number <= number) {
            let cluster = cluster(asked.server);
            recording.note_absence(now, asked.author.clone(), &cluster, asked.kind, &asked.name);
        }
        // To the oracle a namespace is no move of its own: what its user does there next is at the same time.
        let at_time = now + STEP;
        if change.kind != kinds::NAMESPACE {
            now = at_time;
        }
        let what = match change.event {
            "ADDED" => What::Added,
            "DELETED" => What::Gone,
            _ => What::Changed,
        };
        let mut object = change.object.clone();
        object["metadata"]["resourceVersion"] = json!(change.version.to_string());
        recording.note(at_time, author.clone(), change.kind, event(at, what, object));
    }
    recording.marks.push(Mark { at: now + REST, mark: END.to_owned() });
    recording
}

fn event(server: usize, what: What, object: Value) -> Event {
    Event { at: 0, cluster: cluster(server), kind: String::new(), what, object }
}

fn cluster(server: usize) -> String {
    server.checked_sub(1).map_or_else(|| "hub".to_owned(), member_name)
}

#[cfg(test)]
mod tests {
    use fleet_oracle::judge_history;

    use super::*;
    use crate::act::{Act, PortSet};
    use crate::base::Base;
    use crate::world::object_name;

    /// m00 exports "web"; its user withdraws that, and its agent takes the finalizer off at once.
    #[test]
    fn a_finalizer_that_goes_too_early_is_found() {
        let base = Base::joined(2);
        let (mut world, start) = (World::new(&base, 1), Start::of(&base.servers));
        world.perform(&Act::Export { service: 0, member: 0, endpoints: 1, ports: PortSet::Usual });
        world.perform(&Act::Rest);
        assert!(world.is_fine() && judge_history(&of(&start, &world)).is_empty());
        let (kind, name) = (kinds::SERVICE_EXPORT, object_name(0));
        let server = &mut world.fleet.env.servers.0[1];
        server.model.delete(kind, &name).unwrap();
        server.sign(&Author::Other);
        let release = |export: &mut Value| export["metadata"]["finalizers"] = json!([]);
        server.model.edit(kind, &name, release).unwrap();
        server.sign(&Author::Member(member_name(0)));
        let found = judge_history(&of(&start, &world));
        assert!(found.iter().any(|one| one.to_string().contains("S14")), "{found:?}");
    }
}
