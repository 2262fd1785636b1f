//! That a Pod does not cross, and why.

use fleet_api::offload::{PodRejection, Refusal};
use fleet_plan::text::truncate;

/// Bytes of a path that is reported: a field's name comes from a client.
const FIELD: usize = 256;

/// That a Pod does not cross: the first field that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Why.
    pub reason: Refusal,
    /// The field, as a path from the object, such as `spec.containers[0].ports[1].hostPort`.
    pub field: String,
}

impl Rejection {
    /// The refusal of a field. Its path is shortened to what a status takes.
    #[expect(clippy::needless_pass_by_value, reason = "texts and paths, owned or not")]
    pub fn new(reason: Refusal, field: impl ToString) -> Self {
        let field = field.to_string();
        let printable: String = field.chars().filter(|c| !c.is_control()).collect();
        Self { reason, field: truncate(&printable, FIELD).to_owned() }
    }

    /// A sentence for users.
    pub fn message(&self) -> String {
        format!("{} {}", self.field, self.reason.text())
    }

    /// As the hub and the executor report it, for the spec with that hash.
    pub fn report(&self, hash: &str) -> PodRejection {
        let Self { reason, field } = self;
        PodRejection {
            reason: *reason,
            field: field.clone(),
            message: self.message(),
            hash: truncate(hash, 64).to_owned(),
        }
    }
}
