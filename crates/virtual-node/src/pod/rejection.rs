//! That a Pod does not cross, and why.

use fleet_api::offload::pod_fields::{POD, Shape};
use fleet_api::offload::{PodRejection, Refusal};
use fleet_plan::text::truncate;

/// What paths begin with. Contents are named by their kind.
const FIRST: [&str; 9] = [
    "spec",
    "metadata",
    "origin",
    "executor",
    "disconnect",
    "specHash",
    "capacity",
    "ConfigMap",
    "Secret",
];
/// What is none of these.
const OTHER: &str = "other";

/// Bytes of a path that is reported: a field's name comes from a client.
const FIELD: usize = 256;
/// Bytes of what an API server states about it.
const DETAIL: usize = 512;

/// That a Pod does not cross: the first field that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Why.
    pub reason: Refusal,
    /// The field, as a path from the object, such as `spec.containers[0].ports[1].hostPort`.
    pub field: String,
    /// More about it, in words that are not ours; mostly none.
    pub detail: String,
}

impl Rejection {
    /// The refusal of a field. Its path is shortened to what a status takes.
    #[expect(clippy::needless_pass_by_value, reason = "texts and paths, owned or not")]
    pub fn new(reason: Refusal, field: impl ToString) -> Self {
        let field = field.to_string();
        let printable: String = field.chars().filter(|c| !c.is_control()).collect();
        Self { reason, field: truncate(&printable, FIELD).to_owned(), detail: String::new() }
    }

    /// The same, with what another party states about it.
    #[must_use]
    pub fn because(self, detail: &str) -> Self {
        let printable = detail.chars().map(|c| if c.is_control() { ' ' } else { c });
        let printable: String = printable.take(DETAIL).collect();
        Self { detail: truncate(&printable, DETAIL).to_owned(), ..self }
    }

    /// What the hub or the executor has reported. The words are ours, but for what the API server of the executor states: only the
    /// executor knows that.
    pub fn reported(report: &PodRejection) -> Self {
        let plain = Self::new(report.reason, &report.field);
        let ours = plain.message();
        let rest = report.message.strip_prefix(&ours).unwrap_or(&report.message);
        let detail = rest.strip_prefix(": ").unwrap_or(rest);
        if report.reason.has_words_of_executor() { plain.because(detail) } else { plain }
    }

    /// A sentence for users.
    pub fn message(&self) -> String {
        let Self { reason, field, detail } = self;
        let colon = if detail.is_empty() { "" } else { ": " };
        format!("{field} {}{colon}{detail}", reason.text())
    }

    /// The field as far as the table of fields has it, without positions: a label of metrics, of which there are only so many. Names
    /// that a user chose are no part of it.
    pub fn known_field(&self) -> String {
        let mut segments = self.field.split(['.', '[', ' ']);
        let mut known = match segments.next() {
            Some(first) if FIRST.contains(&first) => first.to_owned(),
            _ => return OTHER.to_owned(),
        };
        let mut record = (known == "spec").then_some(&POD);
        for name in segments.filter(|name| !name.ends_with(']')) {
            let Some(field) = record.and_then(|record| record.find(name)) else { break };
            known.push('.');
            known.push_str(name);
            record = field.rule.shape().and_then(Shape::record);
        }
        known
    }

    /// As the hub and the executor report it, for the spec with that hash.
    pub fn report(&self, hash: &str) -> PodRejection {
        let Self { reason, field, .. } = self;
        PodRejection {
            reason: *reason,
            field: field.clone(),
            message: self.message(),
            hash: truncate(hash, 64).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_no_name_that_a_user_chose() {
        for (field, known) in [
            ("spec.containers[0].ports[1].hostPort", "spec.containers.ports.hostPort"),
            ("spec.containers[12].mine", "spec.containers"),
            ("spec.newInTheYear2031.more", "spec"),
            (
                "spec.containers[*].resources.requests.example.com/gpu",
                "spec.containers.resources.requests",
            ),
            ("metadata.annotations[mine/a.b]", "metadata"),
            ("Secret my-own", "Secret"),
            ("config maps and Secrets of spec", "other"),
            ("my own", "other"),
            ("", "other"),
        ] {
            assert_eq!(
                Rejection::new(Refusal::UnknownField, field).known_field(),
                known,
                "{field}"
            );
        }
    }
}
