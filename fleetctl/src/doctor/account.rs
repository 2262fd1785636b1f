//! Who asks a cluster, as reviews of rights take it. Pure.

use std::fmt;

use serde_json::Value;

/// A user with its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// Name of the user; empty for a group.
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    shown: String,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Account {
    /// A ServiceAccount.
    pub(super) fn service(namespace: &str, name: &str) -> Self {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ];
        Self {
            user: format!("system:serviceaccount:{namespace}:{name}"),
            groups: groups.into(),
            shown: format!("ServiceAccount {namespace}/{name}"),
        }
    }

    /// The subject of a RoleBinding in this namespace.
    pub(super) fn of_subject(subject: &Value, namespace: &str) -> Option<Self> {
        let name = subject["name"].as_str()?;
        let everyone = "system:authenticated".to_owned();
        match subject["kind"].as_str()? {
            "ServiceAccount" => {
                Some(Self::service(subject["namespace"].as_str().unwrap_or(namespace), name))
            }
            "User" => Some(Self {
                user: name.to_owned(),
                groups: vec![everyone],
                shown: format!("user {name}"),
            }),
            "Group" => Some(Self {
                user: String::new(),
                groups: vec![name.to_owned(), everyone],
                shown: format!("group {name}"),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subjects_are_users_groups_or_accounts() {
        let of = |subject: Value| Account::of_subject(&subject, "ns");
        let own = of(json!({ "kind": "ServiceAccount", "name": "a" })).unwrap();
        assert_eq!(own, Account::service("ns", "a"));
        assert_eq!(own.user, "system:serviceaccount:ns:a");
        let other = of(json!({ "kind": "ServiceAccount", "name": "a", "namespace": "b" })).unwrap();
        assert_eq!(other.to_string(), "ServiceAccount b/a");
        let user = of(json!({ "kind": "User", "name": "west" })).unwrap();
        assert_eq!((user.user.as_str(), user.to_string().as_str()), ("west", "user west"));
        let group = of(json!({ "kind": "Group", "name": "members" })).unwrap();
        assert_eq!((group.user.as_str(), group.groups[0].as_str()), ("", "members"));
        assert_eq!(of(json!({ "kind": "Robot", "name": "r2" })), None);
        assert_eq!(of(json!({})), None);
    }
}
