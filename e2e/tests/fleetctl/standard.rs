//! The rights of a member for the API of multicluster.x-k8s.io: `join` grants them where the hub serves it, `leave` takes them.

use anyhow::Result;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Testbed, crds, rbac};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;

use crate::DEADLINE;
use crate::tool::{Said, Tool};

/// What is outside of the namespace of a member that has joined.
const ELSEWHERE: [&str; 2] = [
    "RoleBinding fleet-multicluster-reader-west",
    "ClusterRoleBinding fleet-multicluster-reader-west",
];

/// A member that joined before the hub served the API joins again.
pub(crate) async fn joining_grants_what_the_hub_serves(
    testbed: &Testbed,
    tool: &Tool,
) -> Result<()> {
    let hub = testbed.hub().client();
    crds::install(&hub, &crds::load(&crds::MULTICLUSTER)?).await?;
    rbac::hub_multicluster().apply(&hub).await?;
    let join = ["join", "west", "--print", "nothing"];
    let said = tool.run(&[&join[..], &["--dry-run"]].concat()).await?.succeeds()?;
    tells(&said, "Would create")?;
    granted(testbed, false).await?;
    let said = tool.run(&join).await?.succeeds()?;
    tells(&said, "Applied")?;
    granted(testbed, true).await?;
    let said = tool.run(&join).await?.succeeds()?;
    tells(&said, "Unchanged:")?;
    let said = tool.run(&["leave", "west", "--dry-run"]).await?.succeeds()?;
    tells(&said, "Would delete")
}

/// Checks that a run reports what becomes of the bindings elsewhere.
fn tells(said: &Said, what: &str) -> Result<()> {
    ELSEWHERE.iter().try_for_each(|binding| said.tells(&[format!("{what} {binding}").as_str()]))
}

/// The next cluster of that name has none of the rights.
pub(crate) async fn nothing_is_granted_any_more(testbed: &Testbed) -> Result<()> {
    granted(testbed, false).await
}

/// Waits until the member has all of these rights, or none.
async fn granted(testbed: &Testbed, expected: bool) -> Result<()> {
    let own = ["create", "list"].map(|verb| (kinds::EXPORTED_SERVICE, "fleet-member-west", verb));
    let all = [
        (kinds::RESOLVED_SERVICE, SYSTEM_NAMESPACE, "watch"),
        (kinds::ENDPOINT_SLICE_EXPORT, "", "list"),
        (kinds::CLUSTER_REPORT, "", "watch"),
    ];
    for (kind, namespace, verb) in own.into_iter().chain(all) {
        let what = format!("{verb} {} in {namespace:?}: {expected}", kind.plural);
        wait_until(&what, DEADLINE, async || {
            Ok(may(testbed, verb, kind, namespace).await? == expected)
        })
        .await?;
    }
    Ok(())
}

async fn may(testbed: &Testbed, verb: &str, kind: ResourceKind, namespace: &str) -> Result<bool> {
    let resource = ResourceAttributes {
        group: Some(kind.group.to_owned()),
        resource: Some(kind.plural.to_owned()),
        namespace: Some(namespace.to_owned()),
        verb: Some(verb.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some("system:serviceaccount:fleet-member-west:member-agent".to_owned()),
        resource_attributes: Some(resource),
        ..SubjectAccessReviewSpec::default()
    };
    let asked = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews: Api<SubjectAccessReview> = Api::all(testbed.hub().client());
    let answer = reviews.create(&PostParams::default(), &asked).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}
