//! Where endpoints come from.

use std::fmt;
use std::rc::Rc;

use k8s_openapi::api::core::v1::Service;

use crate::{AddressType, Desired};

/// One number per port of the Service, in its order; none where a port cannot be resolved.
pub type Numbers = Rc<[Option<i32>]>;

/// One thing behind a Service.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// On which ports it serves. They are wanted even if it gives no endpoint.
    pub ports: Numbers,
    /// Its endpoint; none if it has no address of the type. A problem leaves it out and makes the caller retry.
    pub endpoint: Result<Option<Desired<'a>>, Problem>,
}

/// Gives the endpoints of a Service.
pub trait Source {
    /// The address types of the Service. Slices of other types are deleted.
    fn address_types(&self, service: &Service) -> Vec<AddressType> {
        AddressType::of_service(service)
    }

    /// Everything that is behind the Service. Of two endpoints of one identity the later counts.
    fn candidates<'a>(
        &'a self,
        service: &'a Service,
        address_type: AddressType,
    ) -> impl Iterator<Item = Candidate<'a>>;
}

/// Why something behind the Service is left out for now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Problem {
    /// The pod's node is not known (yet).
    MissingNode {
        /// The pod's name.
        pod: String,
        /// The node's name.
        node: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingNode { pod, node } => {
                write!(f, "pod {pod} is left out: its node {node:?} is not known")
            }
        }
    }
}

impl std::error::Error for Problem {}
