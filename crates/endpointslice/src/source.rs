//! Sources of endpoints.

use std::fmt;
use std::rc::Rc;

use k8s_openapi::api::core::v1::Service;

use crate::{AddressType, Desired};

/// One number per port of the Service, in its order; `None` where a port cannot be resolved.
pub type Numbers = Rc<[Option<i32>]>;

/// One candidate for an endpoint of a Service, for example a pod.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// Ports on which it serves. Their port group exists even if the candidate has no endpoint.
    pub ports: Numbers,
    /// Its endpoint; `None` if it has no address of the type. With a problem it is left out, and the caller should requeue
    /// the Service.
    pub endpoint: Result<Option<Desired<'a>>, Problem>,
}

/// Source of the endpoints of a Service.
pub trait Source {
    /// The address types of the Service. Slices of other types are deleted.
    fn address_types(&self, service: &Service) -> Vec<AddressType> {
        AddressType::of_service(service)
    }

    /// All candidates of the Service. Of two endpoints with one identity the later one is used.
    fn candidates<'a>(
        &'a self,
        service: &'a Service,
        address_type: AddressType,
    ) -> impl Iterator<Item = Candidate<'a>>;
}

/// Why a candidate is left out for now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Problem {
    /// The pod's node is not known yet.
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
