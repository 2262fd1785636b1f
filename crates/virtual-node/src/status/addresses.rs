//! Addresses that an executor reports.
//!
//! A Pod's address gets traffic of the origin's Services. An executor that reports one of another cluster could attract what is
//! meant for it, so only addresses in the ranges that the hub's administrators have registered for it are taken.

use std::net::IpAddr;

use fleet_model::addresses::can_be_own_endpoint;
use fleet_model::cidr::Cidrs;

/// The addresses of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// These, at most one of each family; the executor's order is kept.
    Taken(Vec<IpAddr>),
    /// This one does not belong to the executor, so none is taken.
    Refused(String),
}

/// The addresses of a Pod that are taken. Without ranges none is.
pub fn believed(reported: &[String], ranges: &Cidrs) -> Addresses {
    let mut taken: Vec<IpAddr> = Vec::new();
    for text in reported {
        let address = text.parse().ok().filter(|address| is_of(*address, ranges));
        let Some(address) = address else { return Addresses::Refused(text.clone()) };
        if taken.iter().any(|other| other.is_ipv4() == address.is_ipv4()) {
            return Addresses::Refused(text.clone());
        }
        taken.push(address);
    }
    Addresses::Taken(taken)
}

fn is_of(address: IpAddr, ranges: &Cidrs) -> bool {
    ranges.find(address).is_some() && can_be_own_endpoint(address)
}
