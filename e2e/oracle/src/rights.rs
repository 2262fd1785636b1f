//! Rights, by the audit logs: no agent is refused anything, and none has a right that it never uses.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use fleet_api::names::member_namespace;

use super::evidence::Recording;
use super::history::{HUB, History};
use super::quiescence::disturbances;
use super::requests::{Author, Request};
use super::violation::Violation;
use fleet_testbed::rbac::{self, Account, Grant};

/// What a request for a resource on its way out is refused with, whatever the rights.
const TERMINATING: &str = "because it is being terminated";

/// Members share their rights, and what one uses, all need.
const MEMBER: &str = "member";

/// Requests that were refused for want of a right, while no test had taken it away.
pub fn refused(recording: &Recording) -> Vec<Violation> {
    let history = History::new(recording);
    let disturbed = disturbances(&history);
    let quiescent = |request: &&Request| {
        !disturbed.iter().any(|(begin, end)| (*begin..=*end).contains(&request.received))
    };
    history
        .agent_requests()
        .filter(|request| request.code == 403 && !request.message.contains(TERMINATING))
        .filter(quiescent)
        .map(|request| Violation::of_request("RBAC", request, &request.message))
        .collect()
}

/// Rights of the charts that no agent used. Right only about a run of all scenarios.
pub fn unused(recording: &Recording) -> Result<Vec<String>> {
    let accounts = [
        ("hub agent", rbac::hub_agent()),
        ("member agent", rbac::member_agent()),
        ("member agent", rbac::external_workloads()),
        ("member agent", rbac::token_renewal()),
        ("member agent on the hub", rbac::member_on_hub(MEMBER)),
    ];
    unused_of(recording, accounts, [])
}

/// Rights for the standard API that no agent used. Right only about a run of what they are for.
pub fn unused_for_standard(recording: &Recording) -> Result<Vec<String>> {
    let accounts = [
        ("member agent", rbac::member_multicluster()),
        ("member agent on the hub", rbac::multicluster_on_hub(MEMBER)),
    ];
    // What these list, an agent may read for that API, too.
    let beside = [
        ("member agent", rbac::member_agent()),
        ("member agent on the hub", rbac::member_on_hub(MEMBER)),
    ];
    unused_of(recording, accounts, beside)
}

fn unused_of(
    recording: &Recording,
    accounts: impl IntoIterator<Item = (&'static str, Account)>,
    beside: impl IntoIterator<Item = (&'static str, Account)>,
) -> Result<Vec<String>> {
    let used = used(&recording.requests, MEMBER);
    let mut granted: BTreeMap<_, BTreeSet<Grant>> = BTreeMap::new();
    for (who, account) in accounts {
        granted.entry(who).or_default().extend(account.grants()?);
    }
    let mut all = granted.clone();
    for (who, account) in beside {
        all.entry(who).or_default().extend(account.grants()?);
    }
    let mut unused = Vec::new();
    for (who, grants) in granted {
        let used = used.get(who).cloned().unwrap_or_default();
        let unused_one =
            |grant: &&Grant| !is_used(grant, &grants, &used) && !spared(grant, &all[who]);
        for grant in grants.iter().filter(unused_one) {
            let Grant { group, resource, verb, .. } = grant;
            unused.push(format!(
                "RBAC the {who} never uses its right to {verb} {resource} of {group:?}"
            ));
        }
    }
    Ok(unused)
}

/// What each kind of account asked for and was not denied. Members count as one.
fn used(requests: &[Request], member: &str) -> BTreeMap<&'static str, BTreeSet<Grant>> {
    let mut used: BTreeMap<_, BTreeSet<Grant>> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.code != 403) {
        let (who, namespace) = match &request.author {
            Author::Hub => ("hub agent", request.namespace.clone()),
            Author::Member(name) if request.cluster == HUB => {
                let own = request.namespace == member_namespace(name);
                let namespace =
                    if own { member_namespace(member) } else { request.namespace.clone() };
                ("member agent on the hub", namespace)
            }
            Author::Member(_) => ("member agent", request.namespace.clone()),
            Author::Other => continue,
        };
        let resource = match request.subresource.as_str() {
            "" => request.resource.clone(),
            subresource => format!("{}/{subresource}", request.resource),
        };
        let (group, verb) = (request.group.clone(), request.verb.clone());
        used.entry(who).or_default().insert(Grant {
            namespace: Some(namespace),
            group,
            resource,
            verb,
        });
    }
    used
}

/// A right that is granted everywhere and in one namespace, too, is used where it is used elsewhere.
fn is_used(grant: &Grant, grants: &BTreeSet<Grant>, used: &BTreeSet<Grant>) -> bool {
    used.iter().any(|one| {
        let there = match &grant.namespace {
            None => !grants.contains(one),
            namespace => *namespace == one.namespace,
        };
        let what = (&one.group, &one.resource, &one.verb);
        there && what == (&grant.group, &grant.resource, &grant.verb)
    })
}

/// Whether other tests show a right: the scenarios' shared agents run without rivals, so without a lease, and no Event
/// is repeated for long enough to become a series.
fn shown_elsewhere(resource: &str, verb: &str) -> bool {
    resource == "leases" || (resource, verb) == ("events", "patch")
}

/// Reading one object shows no more than the list that is granted anyway; it is for what a watch does not show in time.
/// And a right to finalize is asked for by some servers only, without a request.
fn spared(grant: &Grant, grants: &BTreeSet<Grant>) -> bool {
    let listed = || {
        grants.iter().any(|one| {
            (&one.group, &one.resource) == (&grant.group, &grant.resource) && one.verb == "list"
        })
    };
    (grant.verb == "get" && listed())
        || grant.resource.ends_with("/finalizers")
        || shown_elsewhere(&grant.resource, &grant.verb)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn request(user: &str, cluster: &str, grant: &Grant, code: u16) -> Request {
        let (resource, subresource) =
            grant.resource.split_once('/').unwrap_or((&grant.resource, ""));
        Request {
            cluster: cluster.to_owned(),
            user: user.to_owned(),
            author: Author::of(cluster, user),
            verb: grant.verb.clone(),
            group: grant.group.clone(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: grant.namespace.clone().unwrap_or_default(),
            name: String::new(),
            uri: String::new(),
            code,
            message: "forbidden".to_owned(),
            received: 1,
            answered: 2,
            body: Value::Null,
            response: Value::Null,
        }
    }

    /// A run in which every right is used once.
    fn thorough() -> Recording {
        let mut requests = Vec::new();
        let accounts = [
            ("hub", rbac::hub_agent()),
            ("member-1", rbac::member_agent()),
            ("member-1", rbac::external_workloads()),
            ("member-1", rbac::token_renewal()),
            ("hub", rbac::member_on_hub("member-1")),
        ];
        for (cluster, account) in accounts {
            let grants = account.grants().unwrap();
            requests.extend(grants.iter().map(|one| request(&account.user(), cluster, one, 200)));
        }
        Recording { requests, ..Recording::default() }
    }

    #[test]
    fn every_single_right_is_missed_if_nobody_uses_it() {
        let thorough = thorough();
        assert_eq!(unused(&thorough).unwrap(), Vec::<String>::new());
        let seeded = thorough.requests.len();
        let mut spared = 0;
        for at in 0..seeded {
            let mut lazy = thorough.clone();
            let missing = lazy.requests.remove(at);
            let found = unused(&lazy).unwrap();
            let exempt = missing.verb == "get"
                || missing.subresource == "finalizers"
                || shown_elsewhere(&missing.resource, &missing.verb);
            // The same right may be granted everywhere and in the own namespace.
            assert!(exempt || found.len() == 1, "{missing:?}: {found:?}");
            spared += usize::from(found.is_empty());
        }
        assert!(spared < seeded / 3, "{spared} of {seeded} rights may stay unused");
    }

    #[test]
    fn a_denied_request_does_not_use_a_right() {
        let mut denied = thorough();
        let patches = denied.requests.iter_mut().filter(|request| request.verb == "patch");
        patches.for_each(|request| request.code = 403);
        assert!(!unused(&denied).unwrap().is_empty());
    }

    #[test]
    fn a_refusal_is_found_unless_the_right_was_taken_away_or_the_namespace_ends() {
        let mut run = thorough();
        assert_eq!(refused(&run), []);
        run.requests[0].code = 403;
        assert_eq!(refused(&run).len(), 1);
        let mark = |at, mark: &str| crate::record::Mark { at, mark: mark.to_owned() };
        run.marks = vec![mark(0, "begin outage::x"), mark(5, "end outage::x")];
        assert_eq!(refused(&run), []);
        run.marks.clear();
        run.requests[0].message = format!("namespace x {TERMINATING}");
        assert_eq!(refused(&run), []);
    }
}
