//! `fleetctl drain`, `undrain`, `silence` and `forget`: what administrators decide about a member's endpoints. Each is one write to the
//! member's `MemberTraffic` on the hub; the hub agent takes the steps.

mod args;
mod decide;
mod forget;
mod forget_hub;
mod impact;
mod permission;
mod progress;
pub(crate) mod shown;
mod silence;
mod write;

pub(crate) use args::time;
pub use args::{DrainArgs, ForgetArgs, SilenceCommand, UndrainArgs};
pub(crate) use decide::{drain, drain_to_leave, names, undrain};
pub(crate) use forget::forget;
pub(crate) use forget_hub::forget_hub;
pub(crate) use permission::{Refused, check_drain};
pub use shown::{Drained, MemberTrafficShown, TrafficStatus};
pub(crate) use silence::silence;
pub(crate) use write::request;
