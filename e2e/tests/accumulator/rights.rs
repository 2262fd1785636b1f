//! Rights that are missing, taken away and given back: "forbidden" is not "empty".

use fleet_accumulator::SourceState;
use fleet_api::kinds;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::proxy::Proxy;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use crate::support::{Eyes, Follower, Slices, slices, until_counts, until_fresh};

const LIST: &[&str] = &["get", "list"];
const LIST_AND_WATCH: &[&str] = &["get", "list", "watch"];

/// A user with rights to the slices of one namespace, or without.
struct User<'a> {
    cluster: &'a Cluster,
    name: &'static str,
    namespace: &'static str,
}

impl User<'_> {
    async fn grant(&self, verbs: &[&str]) {
        let metadata = json!({ "name": self.name, "namespace": self.namespace });
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
            "rules": [{
                "apiGroups": [kinds::ENDPOINT_SLICE.group],
                "resources": [kinds::ENDPOINT_SLICE.plural],
                "verbs": verbs,
            }],
        });
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": { "apiGroup": group, "kind": "Role", "name": self.name },
            "subjects": [{ "apiGroup": group, "kind": "User", "name": self.name }],
        });
        apply(&self.cluster.client(), role).await.unwrap();
        apply(&self.cluster.client(), binding).await.unwrap();
    }

    async fn revoke(&self) {
        let bindings: Api<RoleBinding> = Api::namespaced(self.cluster.client(), self.namespace);
        bindings.delete(self.name, &DeleteParams::default()).await.unwrap();
    }
}

fn forbidden(wanted: &'static str) -> impl Fn(&SourceState) -> bool {
    move |state| matches!(state, SourceState::Forbidden { verb, .. } if *verb == wanted)
}

/// What a user without rights sees at start is nothing, not emptiness; the rights are noticed without a restart.
pub(crate) async fn refused_at_start(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "refused").await;
    slices_there.create_all(0..3).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let user = User { cluster, name: "newcomer", namespace: "refused" };
    let eyes = Eyes::on_slices(cluster, &proxy, Some(user.name), user.namespace).await;
    let mut cursor = eyes.accumulator.cursor(slices());

    eyes.until_state("forbidden to list", forbidden("list")).await;
    let blocking = eyes.blocking();
    assert_eq!(blocking.len(), 1, "{blocking:?}");
    let begin = "endpointslices of the local cluster: list is forbidden (";
    assert!(blocking[0].starts_with(begin), "{blocking:?}");
    assert!(blocking[0].contains("newcomer"), "the server's own words: {blocking:?}");
    assert!(cursor.try_next().is_none(), "the gate is closed");
    assert!(!eyes.snapshot().slices.bootstrapped());

    user.grant(LIST_AND_WATCH).await;
    eyes.until_live().await;
    assert!(eyes.blocking().is_empty(), "{:?}", eyes.blocking());
    let step = cursor.next().await.unwrap();
    assert_eq!(step.diff(|snapshot| &snapshot.slices).count(), 3);
    cursor.commit(step);
    eyes.close().await;
}

/// What was seen before stays when the rights go, and is brought up to date when they come back.
pub(crate) async fn revoked_while_live(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "revoked").await;
    slices_there.create_all(0..5).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let user = User { cluster, name: "leaver", namespace: "revoked" };
    user.grant(LIST_AND_WATCH).await;
    let eyes = Eyes::on_slices(cluster, &proxy, Some(user.name), user.namespace).await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    until_counts(&follower, [5, 0, 0, 0]).await;
    eyes.until_live().await;
    let before = eyes.snapshot();

    // A watch that runs is not asked again: the refusal comes with the next one, here after seconds.
    user.revoke().await;
    let refused = |state: &SourceState| matches!(state, SourceState::Forbidden { .. });
    eyes.until_state("forbidden", refused).await;
    slices_there.delete(0).await.unwrap();
    slices_there.change(1, 99).await.unwrap();
    slices_there.recreate_all(2..3).await;
    let blocking = eyes.blocking();
    // The refused watch, or already the list that comes after it.
    let is_refused = |verb: &str| {
        let begin = format!("endpointslices of the local cluster: {verb} is forbidden (");
        blocking.len() == 1 && blocking[0].starts_with(&begin)
    };
    assert!(is_refused("watch") || is_refused("list"), "{blocking:?}");
    eyes.until_state("forbidden to list", forbidden("list")).await;
    assert!(eyes.snapshot().slices.iter().eq(before.slices.iter()), "frozen, not emptied");
    assert_eq!(follower.counts(), [5, 0, 0, 0]);

    user.grant(LIST_AND_WATCH).await;
    eyes.until_live().await;
    until_counts(&follower, [5, 1, 1, 1]).await;
    assert!(eyes.blocking().is_empty(), "{:?}", eyes.blocking());
    until_fresh(cluster, Some("revoked"), || eyes.snapshot().slices.clone()).await;
    follower.until_equal(|| eyes.snapshot().slices.clone()).await;
    eyes.close().await;
}

/// A client that may list and not watch is refused again and again, and never taken for live in between.
pub(crate) async fn list_without_watch(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "half").await;
    slices_there.create_all(0..2).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let user = User { cluster, name: "reader", namespace: "half" };
    user.grant(LIST).await;
    let eyes = Eyes::on_slices(cluster, &proxy, Some(user.name), user.namespace).await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    eyes.until_state("forbidden to watch", forbidden("watch")).await;
    let blocking = eyes.blocking();
    let begin = "endpointslices of the local cluster: watch is forbidden (";
    assert!(blocking.len() == 1 && blocking[0].starts_with(begin), "{blocking:?}");

    // What each further list shows is taken over, and changes nothing about the verdict.
    slices_there.create(2).await.unwrap();
    until_counts(&follower, [3, 0, 0, 0]).await;
    slices_there.delete(0).await.unwrap();
    until_counts(&follower, [3, 0, 0, 1]).await;
    let states = follower.states();
    let refused = states.iter().position(|state| *state == "forbidden");
    let after = &states[refused.unwrap()..];
    assert_eq!(after, ["forbidden"], "of {states:?}");

    user.grant(LIST_AND_WATCH).await;
    eyes.until_live().await;
    assert!(eyes.blocking().is_empty(), "{:?}", eyes.blocking());
    slices_there.create(3).await.unwrap();
    until_counts(&follower, [4, 0, 0, 1]).await;
    eyes.close().await;
}
