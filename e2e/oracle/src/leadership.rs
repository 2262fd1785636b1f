//! S27: of several processes of an agent only the one that holds their Lease writes, and only as long as it holds it.

use std::collections::BTreeMap;

use fleet_api::kinds;
use fleet_api::names::MEMBER_LEASE;

use super::object::text;
use super::record::Micros;
use super::requests::{Author, Request};
use super::violation::Violation;

/// Namespace of the Leases of nodes.
const NODE_LEASES: &str = "kube-node-lease";

/// A process of an agent: processes are known by accounts of their own, which end in a number for all but the first.
type Process<'a> = (Author, &'a str);

/// Something written into a Lease.
struct Term<'a> {
    holder: &'a str,
    /// Whether it names a holder; who steps down names none.
    held: bool,
    answered: Micros,
    lasts: Micros,
}

/// All of them. Agents without any Lease stand in no election, and are not judged.
pub fn check(requests: &[Request]) -> Vec<Violation> {
    let terms = terms(requests);
    let mut found = Vec::new();
    for request in requests.iter().filter(|request| request.is_write()) {
        if [kinds::LEASE.plural, "events"].contains(&request.resource.as_str()) {
            continue;
        }
        let Some((agent, process)) = process(request) else { continue };
        let Some(terms) = terms.get(&agent) else { continue };
        let begun = terms.partition_point(|term| term.answered <= request.received);
        let problem = match terms[..begun].last() {
            None => Some("no process holds the Lease yet"),
            Some(term) if !term.held => Some("the Lease was given back"),
            Some(term) if term.holder != process => Some("another holds the Lease"),
            Some(term) if request.received > term.answered + term.lasts => {
                Some("the Lease is over")
            }
            Some(_) => None,
        };
        found.extend(problem.map(|problem| Violation::of_request("S27", request, problem)));
    }
    found
}

/// What each agent has written into its Lease, in the order of the answers. That of a member on the hub is a heartbeat, as are those of
/// nodes, and no election.
fn terms(requests: &[Request]) -> BTreeMap<Author, Vec<Term<'_>>> {
    let mut terms: BTreeMap<Author, Vec<Term<'_>>> = BTreeMap::new();
    let leases = requests.iter().filter(|request| {
        let is_heartbeat = request.name == MEMBER_LEASE || request.namespace == NODE_LEASES;
        let is_lease = request.resource == kinds::LEASE.plural && !is_heartbeat;
        request.is_write() && request.succeeded() && is_lease
    });
    for request in leases {
        let Some((agent, holder)) = process(request) else { continue };
        let spec = &request.response["spec"];
        let seconds = spec["leaseDurationSeconds"].as_i64().unwrap_or_default();
        terms.entry(agent).or_default().push(Term {
            holder,
            held: !text(spec, "/holderIdentity").is_empty(),
            answered: request.answered,
            lasts: seconds * 1_000_000,
        });
    }
    for terms in terms.values_mut() {
        terms.sort_by_key(|term| term.answered);
    }
    terms
}

/// Whose request it is; `None` if no agent's.
fn process(request: &Request) -> Option<Process<'_>> {
    let user = request.user.as_str();
    let numbered = user.rsplit_once('-').filter(|(_, end)| end.parse::<usize>().is_ok());
    let (account, number) = numbered.unwrap_or((user, ""));
    let agent = Author::of(&request.cluster, account);
    agent.is_agent().then_some((agent, number))
}
