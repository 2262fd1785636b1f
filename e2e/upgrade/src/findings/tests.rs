//! Each rule is broken on purpose.

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_oracle::requests::Author;
use serde_json::json;

use super::*;

const BEGIN: Micros = 10;
const END: Micros = 50;

fn event(at: Micros, kind: ResourceKind, what: What, object: Value) -> Event {
    Event { at, cluster: "east".to_owned(), kind: kind.kind.to_owned(), what, object }
}

fn of_events(events: Vec<Event>) -> Recording {
    Recording { events, ..Recording::default() }
}

fn slice(name: &str, addresses: &[&str]) -> Value {
    json!({
        "metadata": {
            "namespace": SYSTEM_NAMESPACE, "name": name,
            "labels": { (labels::SERVICE_NAME): "moving-web" },
        },
        "endpoints": [{ "addresses": addresses }],
    })
}

fn lost(events: Vec<Event>) -> usize {
    let addresses = ["10.0.0.1", "10.0.0.2"].map(str::to_owned).into();
    let [cluster, namespace, derived] = ["east", SYSTEM_NAMESPACE, "moving-web"].map(str::to_owned);
    let (from, until) = (BEGIN, END);
    let kept = Kept { cluster, namespace, derived, addresses, from, until };
    lost_endpoints(&of_events(events), &[kept]).len()
}

#[test]
fn an_address_may_move_to_another_slice_and_must_not_be_missing() {
    let kind = kinds::ENDPOINT_SLICE;
    let found = event(1, kind, What::Found, slice("a", &["10.0.0.1"]));
    let second = event(2, kind, What::Added, slice("b", &["10.0.0.2"]));
    let both = event(20, kind, What::Changed, slice("b", &["10.0.0.1", "10.0.0.2"]));
    let gone = event(21, kind, What::Gone, slice("a", &["10.0.0.1"]));
    assert_eq!(lost(vec![found.clone(), second.clone(), both, gone.clone()]), 0);
    assert_eq!(lost(vec![found.clone(), second.clone(), gone.clone()]), 1);
    let late = Event { at: END, ..gone };
    assert_eq!(lost(vec![found, second, late]), 0, "it is switched off");
}

#[test]
fn only_copies_of_slices_that_change_may_be_deleted() {
    let copy = |namespace: &str| {
        json!({
            "metadata": { "namespace": "fleet-member-east", "name": namespace },
            "spec": { "ownerServiceReference": { "namespace": namespace, "name": "web" } },
        })
    };
    let export = json!({ "metadata": { "namespace": MOVING, "name": "web" } });
    let deleted = |kind, object| {
        let events = [5, 20].map(|at| event(at, kind, What::Gone, Value::clone(&object)));
        withdrawn(&of_events(events.into()), &[], BEGIN).len()
    };
    assert_eq!(deleted(kinds::ENDPOINT_SLICE_EXPORT, copy(MOVING)), 0);
    assert_eq!(deleted(kinds::ENDPOINT_SLICE_EXPORT, copy("resting")), 1);
    assert_eq!(deleted(kinds::SERVICE_EXPORT, export.clone()), 1);
    let mut leaving = export;
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let leaving = event(20, kinds::SERVICE_EXPORT, What::Changed, leaving);
    assert_eq!(withdrawn(&of_events(vec![leaving]), &[], BEGIN).len(), 1);
}

#[test]
fn what_is_new_may_be_taken_back_once_it_is_switched_off() {
    let resolved = |name: &str| {
        json!({
            "metadata": { "namespace": SYSTEM_NAMESPACE, "name": name },
            "spec": { "service": { "namespace": "resting", "name": name } },
        })
    };
    let deleted = |at, kind, object| {
        let gone = event(at, kind, What::Gone, object);
        let steps = [(10, Direction::Forward), (20, Direction::Back), (30, Direction::Forward)];
        let steps = steps.map(|(begin, direction)| step(Part::Additions, direction, begin));
        withdrawn(&of_events(vec![gone]), &steps, BEGIN).len()
    };
    let service = |at, name| deleted(at, kinds::RESOLVED_SERVICE, resolved(name));
    let namespace =
        |at, name| deleted(at, kinds::NAMESPACE, json!({ "metadata": { "name": name } }));
    assert_eq!([15, 25, 35].map(|at| service(at, STANDARD)), [1, 0, 1]);
    assert_eq!([15, 25, 35].map(|at| namespace(at, "offload-east--resting")), [1, 0, 1]);
    assert_eq!((service(25, "web"), namespace(25, "resting")), (1, 1));
}

fn step(part: Part, direction: Direction, begin: Micros) -> Step {
    Step { roll: 0, part, direction, begin, end: begin + 5, changes: 0 }
}

#[test]
fn a_derived_service_keeps_its_addresses() {
    let service = |uid: &str, address: &str| {
        let object = json!({
            "metadata": {
                "namespace": SYSTEM_NAMESPACE, "name": "moving-web", "uid": uid,
                "labels": {
                    (labels::MULTI_CLUSTER_SERVICE_NAMESPACE): MOVING,
                    (labels::MULTI_CLUSTER_SERVICE_NAME): "web",
                },
            },
            "status": { "loadBalancer": { "ingress": [{ "ip": address }] } },
        });
        event(20, kinds::SERVICE, What::Changed, object)
    };
    let moved = |next| moved_addresses(&of_events(vec![service("u", "10.0.0.1"), next]), BEGIN);
    assert_eq!(moved(service("u", "10.0.0.1")), Vec::<String>::new());
    assert_eq!(moved(service("v", "10.0.0.1")).len(), 1);
    assert_eq!(moved(service("u", "10.0.0.2")).len(), 1);
    assert_eq!(with_address(&of_events(vec![service("u", "10.0.0.1")])), 1);
}

fn request(resource: &str, name: &str, received: Micros, code: u16) -> Request {
    Request {
        cluster: "hub".to_owned(),
        user: "system:serviceaccount:fleet-system:hub-agent".to_owned(),
        author: Author::Hub,
        verb: "update".to_owned(),
        group: String::new(),
        resource: resource.to_owned(),
        subresource: String::new(),
        namespace: "fleet-member-east".to_owned(),
        name: name.to_owned(),
        uri: String::new(),
        code,
        message: String::new(),
        received,
        answered: received,
        body: Value::Null,
        response: Value::Null,
    }
}

#[test]
fn writes_are_counted_by_step_and_object() {
    let step = |begin| step(Part::Charts, Direction::Forward, begin);
    let requests = vec![
        request("serviceimports", "before", 5, 200),
        request("serviceimports", "web", 10, 200),
        request("serviceimports", "web", 12, 200),
        request("leases", "hub-agent", 12, 200),
        request("endpointsliceimports", "east-moving-web-1a2b3", 12, 200),
        request("endpointsliceimports", "east-resting-web-1a2b3", 25, 200),
        request("serviceimports", "web", 26, 409),
    ];
    let recording = Recording { requests, ..Recording::default() };
    let counted = writes(&recording, &[step(10), step(20)]);
    let counts = |step: usize| counted[step].0.values().copied().collect::<Vec<_>>();
    assert_eq!((counts(0), counted[0].1), (vec![2], 1));
    assert_eq!((counts(1), counted[1].1), (vec![1], 0));
}

#[test]
fn what_policies_and_schemas_reject_is_found() {
    let requests = [200, 403, 409, 422].map(|code| request("serviceimports", "web", 20, code));
    let mut requests = requests.to_vec();
    requests[3].name = "api".to_owned();
    let of_older_role = request("clusterreports", "", 20, 403);
    requests.push(Request { verb: "list".to_owned(), ..of_older_role });
    // Another client was faster.
    let message = "the server rejected our request due to an error in our request".to_owned();
    let verb = "patch".to_owned();
    requests.push(Request { verb, message, ..request("virtualnodes", "west", 20, 422) });
    assert_eq!(rejected(&Recording { requests, ..Recording::default() }).len(), 2);
}
