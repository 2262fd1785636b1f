//! Random operations.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Action, Precondition, Step};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kinds::{KINDS, change, content, status};

/// Finalizers and labels that come and go.
const FINALIZERS: [&str; 2] = ["example.com/one", "example.com/two"];
const LABEL: &str = "example.com~1note";

/// What is done.
#[derive(Clone, Debug)]
pub(super) enum Verb {
    /// POST, with that many finalizers, and a status that the server ignores where it is a subresource.
    Create { finalizers: usize, variant: u8 },
    /// PUT of a whole object.
    Replace { finalizers: usize, variant: u8 },
    /// A JSON patch of the content.
    Change { variant: u8 },
    /// A JSON patch of a label.
    Label { variant: u8 },
    /// A JSON patch of an annotation.
    Annotate { variant: u8 },
    /// A JSON patch that sets the list of finalizers.
    Finalizers(usize),
    /// A JSON patch of the status, in the subresource or, where nothing may come of it, beside it.
    Status { variant: u8, subresource: bool },
    /// A JSON patch that does not fit the object.
    Misfit,
    /// DELETE.
    Delete,
    /// GET that must find nothing.
    ConfirmAbsent,
}

/// Which version of the object it is meant for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meant {
    /// The one that is there.
    Newest,
    /// The one before.
    Older,
    /// One that never was.
    Another,
}

/// One step, without what only a server can know.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) kind: ResourceKind,
    pub(super) name: &'static str,
    verb: Verb,
    meant: Meant,
}

/// A sequence about a few objects of a few kinds, so that operations meet.
pub(super) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    let kinds = prop::sample::subsequence(KINDS.to_vec(), 2);
    kinds.prop_flat_map(|kinds| prop::collection::vec(operation(kinds), 16..28))
}

fn operation(kinds: Vec<ResourceKind>) -> impl Strategy<Value = Operation> {
    let variant = 0_u8..3;
    let verb = prop_oneof![
        4 => (0_usize..3, variant.clone())
            .prop_map(|(finalizers, variant)| Verb::Create { finalizers, variant }),
        3 => (0_usize..3, variant.clone())
            .prop_map(|(finalizers, variant)| Verb::Replace { finalizers, variant }),
        3 => variant.clone().prop_map(|variant| Verb::Change { variant }),
        2 => variant.clone().prop_map(|variant| Verb::Label { variant }),
        1 => variant.clone().prop_map(|variant| Verb::Annotate { variant }),
        4 => (0_usize..3).prop_map(Verb::Finalizers),
        3 => (variant, prop::bool::weighted(0.8))
            .prop_map(|(variant, subresource)| Verb::Status { variant, subresource }),
        1 => Just(Verb::Misfit),
        3 => Just(Verb::Delete),
        1 => Just(Verb::ConfirmAbsent),
    ];
    let meant =
        prop_oneof![8 => Just(Meant::Newest), 1 => Just(Meant::Older), 1 => Just(Meant::Another)];
    let name = prop::sample::select(vec!["one", "two"]);
    (prop::sample::select(kinds), name, verb, meant)
        .prop_map(|(kind, name, verb, meant)| Operation { kind, name, verb, meant })
}

impl Operation {
    /// The step, given the versions of the object that a server has had, the newest last.
    pub(super) fn step(&self, namespace: &str, versions: &[Precondition]) -> Step {
        let name = ObjectName::new(namespace, self.name);
        Step::new(ClusterId::Hub, self.kind, name, self.action(namespace, self.at(versions)))
    }

    fn at(&self, versions: &[Precondition]) -> Precondition {
        let back = |count: usize| versions.iter().rev().nth(count).cloned();
        let never = Precondition {
            uid: "11111111-1111-4111-8111-111111111111".into(),
            version: "1".into(),
        };
        let meant = match self.meant {
            Meant::Newest => back(0),
            Meant::Older => back(1),
            Meant::Another => None,
        };
        meant.unwrap_or(never)
    }

    fn object(&self, namespace: &str, finalizers: usize, variant: u8) -> Value {
        let mut object = content(self.kind, variant);
        object["apiVersion"] = json!(self.kind.api_version());
        object["kind"] = json!(self.kind.kind);
        object["metadata"] = json!({ "namespace": namespace, "name": self.name });
        if finalizers > 0 {
            object["metadata"]["finalizers"] = json!(FINALIZERS[..finalizers]);
        }
        object
    }

    fn action(&self, namespace: &str, at: Precondition) -> Action {
        let patch =
            |status, operations: Vec<Value>| Action::Patch { operations, status, at: at.clone() };
        let set = |path: &str, value: Value| json!({ "op": "add", "path": path, "value": value });
        match self.verb {
            Verb::Create { finalizers, variant } => {
                let mut object = self.object(namespace, finalizers, variant);
                if let Some(status) = status(self.kind, variant) {
                    object["status"] = status;
                }
                Action::Create(object.into())
            }
            // The agents patch Services: a PUT would need what the server has filled in.
            Verb::Replace { finalizers, variant } if self.kind.plural != "services" => {
                let body = self.object(namespace, finalizers, variant).into();
                Action::Replace { body, at }
            }
            Verb::Change { variant } | Verb::Replace { variant, .. } => {
                let change = change(self.kind, variant);
                patch(false, change.map(|(path, value)| set(path, value)).into_iter().collect())
            }
            Verb::Label { variant } => {
                let labels = json!({ "example.com/note": format!("v{variant}") });
                patch(false, vec![set("/metadata/labels", labels)])
            }
            Verb::Annotate { variant } => {
                let annotations = json!({ "example.com/note": format!("v{variant}") });
                patch(false, vec![set("/metadata/annotations", annotations)])
            }
            Verb::Finalizers(count) => {
                patch(false, vec![set("/metadata/finalizers", json!(FINALIZERS[..count]))])
            }
            Verb::Status { variant, subresource } => match status(self.kind, variant) {
                Some(status) => patch(subresource, vec![set("/status", status)]),
                None => patch(false, Vec::new()),
            },
            Verb::Misfit => {
                let nowhere = format!("/metadata/labels/{LABEL}-that-never-was");
                patch(false, vec![json!({ "op": "remove", "path": nowhere })])
            }
            Verb::Delete => Action::Delete { at, grace_seconds: None },
            Verb::ConfirmAbsent => Action::ConfirmAbsent,
        }
    }
}
