//! What it takes to bring a large Service to many importers at once, from the plan to the last answer.

use std::convert::Infallible;

use allocation_counter::measure;
use fleet_accumulator::ClusterId;
use fleet_api::names::member_namespace;
use fleet_api::{ObjectName, finalizers, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::Controller;
use fleet_runtime::metrics::WriterMetrics;
use fleet_runtime::writer::{WriteGate, Writer, WriterSettings};
use http::{Request, Response};
use hub_agent::service::{Key, ServiceController};
use hub_agent::snapshot::HubSnapshot;
use kube::Client;
use kube::client::Body;
use prometheus::Registry;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// Slices of the Service, and their endpoints.
const SLICES: usize = 60;
const ENDPOINTS: usize = 100;
const IMPORTERS: usize = 100;
/// Bytes that may be in use for it at once.
const BUDGET: u64 = 60 << 20;
const NAMESPACE: &str = "shops";
const SERVICE: &str = "large";
const EXPORTER: &str = "exporter";

/// Measures it.
pub(crate) fn check() {
    let (snapshot, hub) = (ready(), ModelServer::new(ClusterId::Hub));
    let (mut written, mut sent) = (0, None);
    let planned = measure(|| written = plan(&snapshot, &hub).steps.len());
    let used = measure(|| sent = Some(send(&snapshot, &hub)));
    let (planned, used) = (planned.bytes_max, used.bytes_max);
    eprintln!(
        "{SLICES} slices of {ENDPOINTS} endpoints to {IMPORTERS} importers: {} KiB to plan {written} writes, {} KiB to send them",
        planned >> 10,
        used >> 10,
    );
    assert_eq!(sent, Some(SLICES * IMPORTERS), "not everything was sent");
    assert!(used <= BUDGET, "distribution takes {used} bytes, more than {BUDGET}");
}

fn plan(snapshot: &HubSnapshot, hub: &ModelServer) -> fleet_plan::Plan {
    let key = Key::Service(ObjectName::new(NAMESPACE, SERVICE));
    ServiceController::default().plan(&key, snapshot, hub.now())
}

/// Plans it and sends the whole plan, more at once than the engine does. Returns how many writes succeeded.
fn send(snapshot: &HubSnapshot, hub: &ModelServer) -> usize {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let _context = runtime.enter();
    let metrics = WriterMetrics::register(&Registry::new()).unwrap().into();
    let clients = [(ClusterId::Hub, server())];
    let writer = Writer::new(clients, WriterSettings::new("bench"), WriteGate::open(), metrics);
    let plan = plan(snapshot, hub);
    let outcome = runtime.block_on(writer.execute(&plan.steps, &CancellationToken::new()));
    outcome.acknowledged.len()
}

/// An API server that accepts everything, once all requests on their way have reached it.
fn server() -> Client {
    let service = tower::service_fn(|request: Request<Body>| async move {
        tokio::task::yield_now().await;
        drop(request);
        let stored = json!({ "metadata": { "uid": "u", "resourceVersion": "1" } });
        let answer = Response::builder().status(201);
        Ok::<_, Infallible>(answer.body(Body::from(stored.to_string().into_bytes())).unwrap())
    });
    Client::new(service, "default")
}

/// A Service whose importers have their grants, but no slice yet.
fn ready() -> HubSnapshot {
    let mut hub = ModelServer::new(ClusterId::Hub);
    let members = (0..IMPORTERS).map(|number| format!("importer-{number}"));
    let members: Vec<_> = members.chain([EXPORTER.to_owned()]).collect();
    let namespaces = members.iter().map(|member| member_namespace(member));
    for name in namespaces.chain([NAMESPACE.to_owned()]) {
        hub.create(kinds::NAMESPACE, &ObjectName::cluster(name), json!({})).unwrap();
    }
    let ports = json!([{ "name": "web", "protocol": "TCP", "port": 80 }]);
    let spec = json!({ "ports": ports, "serviceReference": reference(EXPORTER, SERVICE) });
    let export = made(finalizers::INTERNAL_SERVICE_EXPORT, &spec);
    hub.create(kinds::INTERNAL_SERVICE_EXPORT, &of_member(EXPORTER, SERVICE), export).unwrap();
    for member in &members[..IMPORTERS] {
        let spec = json!({ "serviceImportReference": reference(member, SERVICE) });
        let request = made(finalizers::INTERNAL_SERVICE_IMPORT, &spec);
        hub.create(kinds::INTERNAL_SERVICE_IMPORT, &of_member(member, SERVICE), request).unwrap();
    }
    loop {
        let plan = plan(&view(&hub), &hub);
        if plan.steps.is_empty() {
            break;
        }
        assert!(execute(&plan, &mut [&mut hub]).is_empty());
    }
    for number in 0..SLICES {
        let name = of_member(EXPORTER, &format!("{EXPORTER}-{SERVICE}-{number}"));
        let slice = made(finalizers::ENDPOINT_SLICE_EXPORT, &slice(number));
        hub.create(kinds::ENDPOINT_SLICE_EXPORT, &name, slice).unwrap();
    }
    view(&hub)
}

fn view(hub: &ModelServer) -> HubSnapshot {
    let schema = HubSchema::view(Some(HubSchema::OURS));
    HubSnapshot { schema, ..snapshot(&[hub], None) }
}

fn of_member(member: &str, name: &str) -> ObjectName {
    ObjectName::new(member_namespace(member), name)
}

fn made(finalizer: &str, spec: &Value) -> Value {
    json!({ "metadata": { "finalizers": [finalizer] }, "spec": spec })
}

fn slice(number: usize) -> Value {
    let address = |at| json!({ "addresses": [format!("10.1.{number}.{at}")] });
    json!({
        "addressType": "IPv4",
        "endpoints": (0..ENDPOINTS).map(address).collect::<Vec<_>>(),
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
        "endpointSliceReference": reference(EXPORTER, &format!("{SERVICE}-{number}")),
        "ownerServiceReference": {
            "namespace": NAMESPACE, "name": SERVICE,
            "namespacedName": format!("{NAMESPACE}/{SERVICE}"),
        },
    })
}

fn reference(member: &str, name: &str) -> Value {
    json!({
        "clusterId": member, "kind": "Any", "namespace": NAMESPACE, "name": name,
        "namespacedName": format!("{NAMESPACE}/{name}"), "resourceVersion": "1",
        "generation": 1, "uid": format!("{member}-{name}"),
    })
}
