//! What becomes of the slices of an import while some of them wait for their turn.

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::change::{is_shape_only, moves};
use super::shaping::conditions;

/// A slice as it is here, as its exporter has it, and as it is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// As it is here, if it is.
    pub(crate) current: Option<&'a EndpointSlice>,
    /// As its exporter has it.
    pub(crate) source: &'a EndpointSlice,
    /// As it is to be.
    pub(crate) wanted: &'a EndpointSlice,
    /// Whether it is so already.
    pub(crate) is_current: bool,
}

impl Outlook<'_> {
    pub(super) fn name(&self) -> String {
        self.name.to_owned()
    }

    /// Whether endpoints of it are to have another place.
    pub(super) fn moves(&self) -> bool {
        !self.is_current && self.current.is_some_and(|current| moves(current, self.wanted))
    }

    /// Whether its write may wait: all of its endpoints are there, and only change their places.
    pub(super) fn may_wait(&self) -> bool {
        !self.is_current && self.current.is_some_and(|current| is_shape_only(current, self.source))
    }
}

/// Whether an endpoint is ready while those wait that may, or none is to be: one slice may put its endpoints last because of those
/// that another one is about to take into use.
pub(super) fn serves_meanwhile(slices: &[Outlook<'_>]) -> bool {
    let meanwhile =
        slices.iter().filter_map(|one| if one.may_wait() { one.current } else { Some(one.wanted) });
    let is_ready = |slice: &EndpointSlice| slice.endpoints.iter().any(|one| conditions(one).ready);
    meanwhile.into_iter().any(is_ready) || !slices.iter().any(|one| is_ready(one.wanted))
}
