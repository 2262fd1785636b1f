//! Reads one cluster with the user's rights. Each request may fail by itself, and the reason becomes a part of what was seen.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use fleet_accumulator::one_line;
use fleet_api::ResourceKind;
use fleet_api::kinds::MCS_SERVICE_IMPORT;
use fleet_runtime::clients::ClientSet;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde::Serialize;
use serde_json::Value;

use super::account::Account;
use super::finding::{Read, Unread};
use super::rights::Right;
use crate::objects::{PAGE, api, each_page};

/// The namespace of CoreDNS and its configuration.
pub(super) const SYSTEM: &str = "kube-system";
/// Requests of one kind that are made at once.
pub(super) const AT_ONCE: usize = 8;
/// What CoreDNS does with ServiceImports.
const VERBS: [&str; 2] = ["list", "watch"];

/// A cluster.
pub(super) struct Reader {
    /// Its clients.
    pub(super) set: ClientSet,
    /// Maximum time to wait for an answer.
    pub(super) patience: Duration,
}

impl Reader {
    /// An object; `None` if it does not exist.
    pub(super) async fn get(
        &self,
        kind: ResourceKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Read<Option<Value>> {
        let api = api(self.set.watch.clone(), kind, namespace);
        let what = format!("{} {name}", kind.resource());
        let found = self.ask("get", &what, api.get_opt(name)).await?;
        Ok(found.as_ref().map(value))
    }

    /// The objects of a kind with these labels; `None` if the kind is not served.
    pub(super) async fn list(
        &self,
        kind: ResourceKind,
        namespace: Option<&str>,
        labels: &str,
    ) -> Read<Option<Vec<Value>>> {
        self.list_of(kind, namespace, labels, Some).await
    }

    /// The same of every object: a cluster has many thousands of some kinds, so that only what is asked for is kept of a page.
    pub(super) async fn list_of<T, I: IntoIterator<Item = T>>(
        &self,
        kind: ResourceKind,
        namespace: Option<&str>,
        labels: &str,
        project: impl Fn(Value) -> I,
    ) -> Read<Option<Vec<T>>> {
        let api = api(self.set.watch.clone(), kind, namespace);
        let mut pages = each_page(api, ListParams::default().labels(labels).limit(PAGE));
        let mut found = Vec::new();
        loop {
            let page = async {
                match pages.try_next().await {
                    Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                    page => page.map(Some),
                }
            };
            let Some(page) = self.ask("list", kind.resource(), page).await? else {
                return Ok(None);
            };
            let Some(page) = page else { return Ok(Some(found)) };
            found.extend(page.iter().map(value).flat_map(&project));
        }
    }

    /// The objects of a kind with this name, in all namespaces.
    pub(super) async fn named(&self, kind: ResourceKind, name: &str) -> Read<Vec<Value>> {
        let api = api(self.set.watch.clone(), kind, None);
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let found = self.ask("list", kind.resource(), api.list(&params)).await?;
        Ok(found.iter().map(value).collect())
    }

    /// The version of the API server, such as `v1.36.1`.
    pub(super) async fn version(&self) -> Read<String> {
        let answer = self.ask("get", "the version", self.set.watch.apiserver_version()).await?;
        Ok(answer.git_version)
    }

    /// The kinds of a group and version that the cluster serves.
    pub(super) async fn kinds(&self, group_version: &str) -> Read<BTreeSet<String>> {
        let served = async {
            match self.set.watch.list_api_group_resources(group_version).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
                served => served.map(|served| served.resources),
            }
        };
        let served = self.ask("discover", group_version, served).await?;
        Ok(served.into_iter().map(|resource| resource.kind).collect())
    }

    /// The groups of all kinds that the cluster serves.
    pub(super) async fn groups(&self) -> Read<BTreeSet<String>> {
        let served = self.ask("discover", "API groups", self.set.watch.list_api_groups()).await?;
        Ok(served.groups.into_iter().map(|group| group.name).collect())
    }

    /// What an account in the system namespace may not do with ServiceImports, of all that CoreDNS does.
    pub(super) async fn lacks(&self, account: &str) -> Read<Vec<&'static str>> {
        let account = Account::service(SYSTEM, account);
        let mut lacks = Vec::new();
        for verb in VERBS {
            if !self.is_allowed(&account, &on_imports(verb)).await? {
                lacks.push(verb);
            }
        }
        Ok(lacks)
    }

    /// Which of these rights an account lacks.
    pub(super) async fn lacking(&self, account: &Account, rights: &[Right]) -> Read<Vec<String>> {
        let asked = stream::iter(rights).map(async |right| {
            let is_allowed = self.is_allowed(account, right).await?;
            Ok((!is_allowed).then(|| right.to_string()))
        });
        asked.buffered(AT_ONCE).try_filter_map(async |lacking| Ok(lacking)).try_collect().await
    }

    async fn is_allowed(&self, account: &Account, right: &Right) -> Read<bool> {
        let asked = SubjectAccessReview { spec: review(account, right), ..Default::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.set.watch.clone());
        let params = PostParams::default();
        let answer = reviews.create(&params, &asked);
        let what = "subjectaccessreviews.authorization.k8s.io";
        let answer = self.ask("create", what, answer).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }

    /// Makes a request, and turns its failure into a reason.
    async fn ask<T>(
        &self,
        verb: &str,
        what: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Read<T> {
        let Ok(answer) = tokio::time::timeout(self.patience, request).await else {
            let seconds = self.patience.as_secs();
            let reason = format!("the request to {verb} {what} had no answer within {seconds} s");
            return Err(Unread::new(reason, "try --timeout 30"));
        };
        answer.map_err(|error| unread(verb, what, &error))
    }
}

fn unread(verb: &str, what: &str, error: &kube::Error) -> Unread {
    match error {
        kube::Error::Api(status) if status.code == 403 => {
            let reason = format!("you may not {verb} {what}");
            Unread::new(reason, format!("ask for the right to {verb} {what}"))
        }
        error => {
            let reason = format!("the request to {verb} {what} failed: {}", one_line(error));
            Unread { reason, advice: None }
        }
    }
}

fn on_imports(verb: &str) -> Right {
    let kind = MCS_SERVICE_IMPORT;
    Right {
        verb: verb.to_owned(),
        group: kind.group.to_owned(),
        resource: kind.plural.to_owned(),
        ..Right::default()
    }
}

/// Whether an account has a right, with the groups that it is in.
fn review(account: &Account, right: &Right) -> SubjectAccessReviewSpec {
    let resource = ResourceAttributes {
        group: Some(right.group.clone()),
        resource: Some(right.resource.clone()),
        subresource: right.subresource.clone(),
        verb: Some(right.verb.clone()),
        namespace: right.namespace.clone(),
        name: right.name.clone(),
        ..ResourceAttributes::default()
    };
    let Account { user, groups, .. } = account.clone();
    SubjectAccessReviewSpec {
        user: Some(user).filter(|user| !user.is_empty()),
        groups: Some(groups),
        resource_attributes: Some(resource),
        ..SubjectAccessReviewSpec::default()
    }
}

/// An object as it was sent; what cannot be written as JSON is no object.
fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn error(code: u16, message: &str) -> kube::Error {
        let status = Status { code, message: message.to_owned(), ..Status::default() };
        kube::Error::Api(Box::new(status))
    }

    #[test]
    fn a_missing_right_is_named() {
        let found = unread("list", "services", &error(403, "forbidden"));
        assert_eq!(found.reason, "you may not list services");
        assert_eq!(found.advice.as_deref(), Some("ask for the right to list services"));
    }

    #[test]
    fn another_failure_has_the_words_of_the_server() {
        let found = unread("list", "services", &error(500, "etcd is gone"));
        assert!(found.reason.contains("etcd is gone"), "{found:?}");
        assert_eq!(found.advice, None);
    }

    #[test]
    fn the_groups_of_an_account_count() {
        let spec = review(&Account::service(SYSTEM, "coredns"), &on_imports("watch"));
        assert_eq!(spec.user.as_deref(), Some("system:serviceaccount:kube-system:coredns"));
        assert!(spec.groups.unwrap().contains(&"system:serviceaccounts:kube-system".to_owned()));
        let resource = spec.resource_attributes.unwrap();
        assert_eq!(resource.group.as_deref(), Some("multicluster.x-k8s.io"));
        assert_eq!(resource.namespace, None, "in all namespaces");
    }
}
