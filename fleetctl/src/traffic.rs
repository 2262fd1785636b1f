//! `fleetctl drain`, `undrain`, `silence` and `forget`: what administrators decide about a member's endpoints. Each is one write to the
//! member's `MemberTraffic` on the hub; the hub agent takes the steps.

mod args;
mod decide;
mod forget;
mod impact;
mod progress;
pub(crate) mod shown;
mod silence;
mod write;

pub use args::{DrainArgs, ForgetArgs, SilenceCommand, UndrainArgs};
pub(crate) use decide::{drain, undrain};
pub(crate) use forget::forget;
pub use shown::{Drained, MemberTrafficShown, TrafficStatus};
pub(crate) use silence::silence;
