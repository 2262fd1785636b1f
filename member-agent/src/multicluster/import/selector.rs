use fleet_accumulator::Object;
use fleet_model::objects::Service;

/// The selector that a derived Service is to have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Selector<'a> {
    /// None.
    #[default]
    None,
    /// The one that it has, until own slices take its place. Its ports stay as long: Kubernetes would write endpoints of new ones.
    Kept,
    /// That of the exported Service.
    Of(&'a Object<Service>),
}
