//! One violation each, planted into the story where everything is in its place.

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds};
use serde_json::json;

use super::super::history::EXCLUSIVE;
use super::story::{
    DERIVED, HUB, SLICE, Story, TEAM, USER, WEB, agent, at, claim, imported_slice, internal_export,
    own, slice,
};

/// Name of the invariant, what is wrong, and how it comes about.
pub(super) type Seed = (&'static str, &'static str, fn(&mut Story));

const EXPORT: (&str, &str) = ("fleet-member-a", SLICE);
pub(super) const COPY: (&str, &str) = ("fleet-member-b", SLICE);
const SERVICE: (&str, &str) = (TEAM, WEB);

pub(super) const SEEDS: [Seed; 47] = [
    ("S01", "an exported address that is nobody's", |story| {
        story.edit(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, EXPORT, |export| {
            export["spec"]["endpoints"][0]["addresses"] = json!(["10.9.9.9"]);
        });
    }),
    ("S01", "a copy that says something else", |story| {
        story.edit(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, COPY, |copy| {
            copy["spec"]["endpoints"] = json!([]);
        });
    }),
    ("S01", "an imported address that is nobody's", |story| {
        story.put(&agent("b"), "b", kinds::ENDPOINT_SLICE, imported_slice(&["10.9.9.9"]));
    }),
    ("S02", "an endpoint that does not arrive", |story| {
        story.put(&USER, "a", kinds::ENDPOINT_SLICE, slice(2, &["10.1.0.1", "10.1.0.2"]));
    }),
    ("S02", "an endpoint that stays", |story| {
        story.put(&USER, "a", kinds::ENDPOINT_SLICE, slice(2, &[]));
    }),
    ("S03", "an older generation", |story| {
        story.change();
        story.edit(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, EXPORT, |export| {
            export["spec"]["endpointSliceReference"]["generation"] = json!(1);
        });
    }),
    ("S03", "another source while the first lives", |story| {
        story.edit(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, EXPORT, |export| {
            export["spec"]["endpointSliceReference"]["uid"] = json!("another");
        });
    }),
    ("S04", "a copy of what is gone", |story| {
        let copy = story.get("hub", kinds::ENDPOINT_SLICE_IMPORT, COPY);
        story.withdraw();
        story.put(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, copy);
    }),
    ("S05", "a claim to be another cluster", |story| {
        story.edit(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, EXPORT, |export| {
            export["spec"]["endpointSliceReference"]["clusterId"] = json!("b");
            export["spec"]["endpoints"] = json!([]);
        });
    }),
    ("S05", "a copy of what nobody exported", |story| {
        story.edit(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, COPY, |copy| {
            copy["spec"]["endpointSliceReference"]["clusterId"] = json!("c");
            copy["spec"]["endpoints"] = json!([]);
        });
    }),
    ("S06", "a slice of an exporter that is not accepted", |story| {
        story.edit(&HUB, "hub", kinds::INTERNAL_SERVICE_EXPORT, at("a"), |export| {
            export["status"]["conditions"][0]["status"] = json!("True");
        });
    }),
    ("S07", "a slice for a member that has not asked", |story| story.hand_out("c")),
    ("S07", "a slice taken away without a cause", |story| {
        story.delete(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, COPY);
    }),
    ("S08", "a member in the namespace of another", |story| {
        let export = internal_export();
        let kind = kinds::INTERNAL_SERVICE_EXPORT;
        let request = story.request(&agent("b"), "hub", kind, &export);
        story.recording.requests.push(request);
    }),
    ("S09", "an exporter that does not export", |story| {
        story.edit(&HUB, "hub", kinds::SERVICE_IMPORT, SERVICE, |import| {
            import["status"] = json!({ "clusters": [{ "cluster": "a" }, { "cluster": "b" }] });
        });
    }),
    ("S09", "an accepted export that is not named", |story| {
        story.edit(&HUB, "hub", kinds::SERVICE_IMPORT, SERVICE, |import| {
            import["status"] = json!({});
        });
    }),
    ("S10", "a Service in the namespace of a user", |story| {
        let service = json!({ "metadata": { "namespace": TEAM, "name": "x" } });
        story.put(&agent("b"), "b", kinds::SERVICE, service);
    }),
    ("S10", "a namespace", |story| {
        let space = json!({ "metadata": { "name": "x" } });
        story.put(&HUB, "hub", kinds::NAMESPACE, space);
    }),
    ("S10", "the record of another member", |story| {
        let metadata = json!({ "namespace": "fleet-member-b", "name": "a" });
        let report = json!({ "metadata": metadata, "spec": { "clusterUid": "b" } });
        let request = story.request(&agent("b"), "hub", kinds::CLUSTER_REPORT, &report);
        story.recording.requests.push(request);
    }),
    ("S11", "a Service that somebody else made", |story| {
        let metadata = json!({ "namespace": SYSTEM_NAMESPACE, "name": "dns" });
        story.put(&USER, "b", kinds::SERVICE, json!({ "metadata": metadata }));
        story.delete(&agent("b"), "b", kinds::SERVICE, (SYSTEM_NAMESPACE, "dns"));
    }),
    ("S12", "an imported slice that hangs on nothing", |story| {
        story.put(&USER, "b", kinds::ENDPOINT_SLICE, {
            let mut slice = imported_slice(&["10.1.0.1"]);
            slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("elsewhere");
            slice
        });
    }),
    ("S13", "an export on the hub before the finalizer", |story| {
        let mut other = own();
        other["name"] = json!("other");
        story.put(&USER, "a", kinds::SERVICE_EXPORT, json!({ "metadata": other }));
        let mut export = internal_export();
        export["metadata"]["name"] = json!("team-other");
        export["spec"]["serviceReference"] = other;
        story.put(&agent("a"), "hub", kinds::INTERNAL_SERVICE_EXPORT, export);
    }),
    ("S13", "a claim without a finalizer", |story| {
        story.edit(&HUB, "hub", kinds::SERVICE_IMPORT, SERVICE, |import| {
            claim(import, &["a", "b"]);
            import["metadata"]["finalizers"] = json!([]);
        });
    }),
    ("S14", "a ServiceExport released before its export", |story| {
        story.delete(&USER, "a", kinds::SERVICE_EXPORT, SERVICE);
        story.free(&agent("a"), "a", kinds::SERVICE_EXPORT, SERVICE);
    }),
    ("S14", "an import released before its Service", |story| {
        story.delete(&USER, "b", kinds::MULTI_CLUSTER_SERVICE, SERVICE);
        story.free(&agent("b"), "b", kinds::MULTI_CLUSTER_SERVICE, SERVICE);
    }),
    ("S14", "a copy released before the imported slice", |story| {
        story.delete(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, COPY);
        story.free(&agent("b"), "hub", kinds::ENDPOINT_SLICE_IMPORT, COPY);
    }),
    ("S15", "a finalizer of somebody else", |story| {
        let kind = kinds::MULTI_CLUSTER_SERVICE;
        story.edit(&USER, "b", kind, SERVICE, |wish| {
            wish["metadata"]["finalizers"].as_array_mut().unwrap().push(json!("x/y"));
        });
        story.edit(&agent("b"), "b", kind, SERVICE, |wish| {
            wish["metadata"]["finalizers"].as_array_mut().unwrap().pop();
        });
    }),
    ("S16", "two importers where one is the limit", |story| {
        story.mark(EXCLUSIVE[0]);
        story
            .edit(&HUB, "hub", kinds::SERVICE_IMPORT, SERVICE, |import| claim(import, &["a", "b"]));
    }),
    ("S17", "an imported slice that stays", |story| {
        let slice = story.get("b", kinds::ENDPOINT_SLICE, (SYSTEM_NAMESPACE, SLICE));
        story.withdraw();
        story.put(&agent("b"), "b", kinds::ENDPOINT_SLICE, slice);
    }),
    ("S17", "an export that nobody wants", |story| {
        story.free(&USER, "a", kinds::SERVICE_EXPORT, SERVICE);
        story.delete(&USER, "a", kinds::SERVICE_EXPORT, SERVICE);
    }),
    ("S18", "a slice that is exported twice", |story| story.export_again("second")),
    ("S18", "a slice that is exported over and over", |story| {
        story.export_again("second");
        story.export_again("third");
        let user = &USER;
        for name in ["second", "third"] {
            story.delete(user, "hub", kinds::ENDPOINT_SLICE_EXPORT, ("fleet-member-a", name));
            story.free(user, "hub", kinds::ENDPOINT_SLICE_EXPORT, ("fleet-member-a", name));
        }
    }),
    ("S22", "whichever incarnation", |story| {
        story.withdraw();
        let deletes = story.recording.requests.iter_mut().filter(|one| one.verb == "delete");
        deletes.for_each(|request| request.body = json!({}));
    }),
    ("S23", "whichever version", |story| {
        story.change();
        let updates = story.recording.requests.iter_mut().filter(|one| one.verb == "update");
        updates.for_each(|request| request.body["metadata"]["resourceVersion"] = json!(""));
    }),
    ("S24", "the node of an endpoint", |story| {
        let mut export = story.slice_export();
        export["metadata"]["name"] = json!("another");
        export["spec"]["endpoints"][0]["nodeName"] = json!("node-1");
        story.put(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, export);
    }),
    ("S24", "a trace context that is none", |story| {
        let mut export = story.slice_export();
        export["metadata"]["name"] = json!("another");
        export["metadata"]["annotations"][annotations::TRACEPARENT] = json!("00-0-0-01");
        story.put(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, export);
    }),
    ("S25", "an address that takes no traffic", |story| {
        story.put(&agent("b"), "b", kinds::ENDPOINT_SLICE, imported_slice(&["127.0.0.1"]));
    }),
    ("S26", "what was refused is sent again", |story| {
        let export = story.slice_export();
        let kind = kinds::ENDPOINT_SLICE_EXPORT;
        let mut request = story.request(&agent("a"), "hub", kind, &export);
        (request.code, request.message) = (422, "it is invalid".to_owned());
        story.recording.requests.extend([request.clone(), request]);
    }),
    ("S31", "something in a namespace that ends", |story| {
        story.edit(&USER, "b", kinds::NAMESPACE, ("", TEAM), |space| {
            space["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            space["metadata"]["finalizers"] = json!(["kubernetes"]);
        });
        story.pause();
        let mut other = own();
        other["name"] = json!("other");
        story.put(&agent("b"), "b", kinds::SERVICE_IMPORT, json!({ "metadata": other }));
    }),
    ("L1", "an endpoint that never arrives", |story| {
        story.put(&USER, "a", kinds::ENDPOINT_SLICE, slice(2, &["10.1.0.1", "10.1.0.2"]));
    }),
    ("L2", "a write that changes nothing", |story| {
        story.change();
        let update = story.recording.requests.iter().rfind(|one| one.verb == "update").cloned();
        story.recording.requests.extend(update);
    }),
    ("L3", "writes without end", |story| {
        for _ in 0..300 {
            story.edit(&HUB, "hub", kinds::SERVICE_IMPORT, SERVICE, |_| ());
        }
    }),
    ("L4", "two agents that disagree", |story| {
        (0..4).for_each(|_| story.pause());
        for owner in ["x", "y", "x"] {
            story.edit(&HUB, "hub", kinds::SERVICE_IMPORT, SERVICE, |import| {
                import["metadata"]["annotations"]["example.com/owner"] = json!(owner);
            });
        }
    }),
    ("L4", "an object that is made again and again", |story| {
        (0..4).for_each(|_| story.pause());
        let copy = story.get("hub", kinds::ENDPOINT_SLICE_IMPORT, COPY);
        for _ in 0..2 {
            story.free(&agent("b"), "hub", kinds::ENDPOINT_SLICE_IMPORT, COPY);
            story.delete(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, COPY);
            story.put(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, copy.clone());
        }
    }),
    ("L5", "a deletion without end", |story| {
        story.delete(&USER, "b", kinds::MULTI_CLUSTER_SERVICE, SERVICE);
    }),
    ("L6", "a member that says it has left", |story| story.leave("a")),
    ("L8", "an export that nobody looks at", |story| {
        let mut other = own();
        other["name"] = json!("other");
        story.put(&USER, "a", kinds::SERVICE_EXPORT, json!({ "metadata": other }));
    }),
];

/// Those of L9, which are about what users read.
pub(super) const UNTRUTHS: [Seed; 3] = [
    ("L9", "an import that is valid without its Service", |story| {
        story.delete(&USER, "b", kinds::SERVICE, (SYSTEM_NAMESPACE, DERIVED));
    }),
    ("L9", "a conflict that the exporter is not told", |story| {
        story.edit(&HUB, "hub", kinds::INTERNAL_SERVICE_EXPORT, at("a"), |export| {
            export["status"]["conditions"][0]["status"] = json!("True");
        });
    }),
    ("L9", "a new time without a new status", |story| {
        story.edit(&agent("b"), "b", kinds::MULTI_CLUSTER_SERVICE, SERVICE, |wish| {
            let time = json!("2027-01-01T00:00:00Z");
            wish["status"]["conditions"][0]["lastTransitionTime"] = time;
        });
    }),
];
