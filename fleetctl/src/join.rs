//! `fleetctl join`: creates a member's namespace and rights on the hub, and the credentials of its agent.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::one_line;
use fleet_api::{kinds, names};
use fleet_model::hub_schema::GROUP_VERSION;
use fleet_runtime::clients::{ClientSet, certificates_to_pem};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::access::Contexts;
use crate::args::{Cli, JoinArgs, Print};
use crate::credentials::{Credentials, yaml};
use crate::member_objects::{check_name, membership, namespace, rights, title};
use crate::objects::{api, apply, find, is_served};
use crate::output::{print, report};
use crate::{member_policy, quotas, replace};

/// Seconds of an hour.
const HOUR: i64 = 3600;

/// Joins.
pub(crate) async fn run(cli: &Cli, args: &JoinArgs) -> Result<ExitCode> {
    check_name(&args.name)?;
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?;
    let client = &hub.write;
    check_hub(client, &args.name).await?;
    let account = place(client, args).await?;
    if args.replace {
        replace::run(&contexts, client, args).await?;
    }
    if args.dry_run {
        report("Nothing was changed (--dry-run).");
        return Ok(ExitCode::SUCCESS);
    }
    let token = token(client, &account, args.token_hours).await?;
    let credentials = credentials(&contexts, &hub, args, token).await?;
    if args.secret {
        keep(&contexts, args, &credentials).await?;
    }
    match args.print {
        Print::Values => print(&credentials.values()?)?,
        Print::Secret => print(&yaml(&credentials.secret())?)?,
        Print::Kubeconfig => print(&yaml(&credentials.kubeconfig())?)?,
        Print::Token => print(&format!("{}\n", credentials.token))?,
        Print::Nothing => {}
    }
    if args.print == Print::Values {
        next(args);
    }
    Ok(ExitCode::SUCCESS)
}

fn next(args: &JoinArgs) {
    let name = &args.name;
    if !args.secret {
        report(&format!(
            "Next, store the token: fleetctl join {name} --print secret | kubectl --context {name} apply -f -"
        ));
    }
    report(&format!(
        "Next, save the values above in {name}.yaml and install the agent: helm install member-agent charts/member-agent \
         --kube-context {name} -n {} --create-namespace -f {name}.yaml",
        args.secret_namespace
    ));
}

async fn check_hub(client: &Client, name: &str) -> Result<()> {
    if !is_served(client, kinds::INTERNAL_SERVICE_EXPORT).await? {
        bail!("the hub does not serve {GROUP_VERSION}: install the hub-agent chart first");
    }
    if find(client, kinds::MEMBER_CLUSTER, None, name).await?.is_some() {
        bail!(
            "KubeFleet manages {name} (a MemberCluster of that name exists), and creates its namespace and credentials: \
             there is nothing to join"
        );
    }
    Ok(())
}

/// Creates everything on the hub. Returns the agent's service account.
async fn place(client: &Client, args: &JoinArgs) -> Result<Value> {
    let name = &args.name;
    let own = names::member_namespace(name);
    if find(client, kinds::NAMESPACE, None, &own).await?.is_none() {
        make(client, &namespace(name), args.dry_run).await?;
    }
    let rights = rights(name)?;
    for object in &rights {
        make(client, object, args.dry_run).await?;
    }
    quotas::limit(client, name, args.dry_run).await;
    member_policy::write(client, name, &args.policy, args.dry_run).await?;
    if is_served(client, kinds::INTERNAL_MEMBER_CLUSTER).await? {
        ask_to_join(client, name, args.dry_run).await?;
    } else {
        report(
            "The hub does not serve InternalMemberCluster: a member is in the fleet as long as its namespace exists.",
        );
    }
    let account = rights.into_iter().find(|object| object["kind"] == "ServiceAccount");
    account.context("member-rbac.yaml has no ServiceAccount")
}

async fn make(client: &Client, object: &Value, dry_run: bool) -> Result<()> {
    let changed = apply(client, object, dry_run).await?;
    let done = match (changed, dry_run) {
        (true, true) => "Would create",
        (true, false) => "Applied",
        (false, true) => "Would update if it differs:",
        (false, false) => "Unchanged:",
    };
    report(&format!("{done} {}", title(object)));
    Ok(())
}

/// Asks the member to join; an existing InternalMemberCluster keeps everything but its state.
async fn ask_to_join(client: &Client, name: &str, dry_run: bool) -> Result<()> {
    let (kind, own) = (kinds::INTERNAL_MEMBER_CLUSTER, names::member_namespace(name));
    let Some(membership) = find(client, kind, Some(&own), name).await? else {
        return make(client, &membership(name), dry_run).await;
    };
    let joins = membership.data["spec"]["state"] == "Join";
    if joins || dry_run {
        let state = if joins { "is asked to join" } else { "would be asked to join again" };
        report(&format!("Member {name} {state}"));
        return Ok(());
    }
    set_joining(client, name).await?;
    report(&format!("Asked member {name} to join again"));
    Ok(())
}

/// Asks a member to join.
async fn set_joining(client: &Client, name: &str) -> Result<()> {
    let own = names::member_namespace(name);
    let patch = Patch::Merge(json!({ "spec": { "state": "Join" } }));
    let memberships = api(client.clone(), kinds::INTERNAL_MEMBER_CLUSTER, Some(&own));
    let patched = memberships.patch(name, &PatchParams::default(), &patch).await;
    patched.map_err(|error| anyhow::anyhow!("ask {name} to join: {}", one_line(&error)))?;
    Ok(())
}

async fn token(client: &Client, account: &Value, hours: u32) -> Result<String> {
    let text = |field: &str| account["metadata"][field].as_str().unwrap_or_default().to_owned();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &text("namespace"));
    let expiration_seconds = Some(i64::from(hours) * HOUR);
    let spec = TokenRequestSpec { expiration_seconds, ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let answer =
        accounts.create_token_request(&text("name"), &PostParams::default(), &request).await;
    let answer = answer.map_err(|error| anyhow::anyhow!("get a token: {}", one_line(&error)))?;
    let status = answer.status.context("the API server returned no token")?;
    report(&format!(
        "The token is valid until {}; run join again to renew it",
        status.expiration_timestamp.0
    ));
    Ok(status.token)
}

async fn credentials(
    contexts: &Contexts,
    hub: &ClientSet,
    args: &JoinArgs,
    token: String,
) -> Result<Credentials> {
    let config = contexts.config(&contexts.hub).await?;
    let url = args.hub_url.clone().unwrap_or_else(|| hub.url.clone());
    Ok(Credentials {
        member: args.name.clone(),
        url: url.trim_end_matches('/').to_owned(),
        authority: config.root_cert.as_deref().map(certificates_to_pem),
        token,
        secret: args.secret_name.clone(),
        secret_namespace: args.secret_namespace.clone(),
    })
}

/// Stores the token in the member's own cluster.
async fn keep(contexts: &Contexts, args: &JoinArgs, credentials: &Credentials) -> Result<()> {
    let name = &args.name;
    let context = contexts.of_member(name);
    let context =
        context.with_context(|| format!("no context for {name}: use --member {name}=CONTEXT"))?;
    let own = contexts.connect(context).await?;
    let namespace = &args.secret_namespace;
    if find(&own.write, kinds::NAMESPACE, None, namespace).await?.is_none() {
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        make(&own.write, &object, false).await?;
    }
    make(&own.write, &credentials.secret(), false).await
}
