//! `fleetctl join` in steps, for administrators of a member and of the hub who have no access to the other's cluster.
//!
//! 1. `--request` (member): makes a key in a Secret of the member, and prints a certificate signing request.
//! 2. `--approve` (hub): makes the member's place on the hub, lets the hub sign the request, and prints an approval.
//! 3. `--finish` (member): requests a token of the member's account with the certificate, and stores it in the member.
//!
//! What is handed over is public: the key never leaves the member, and the certificate is of no use without it. It is valid for a
//! day, and allows nothing but to request tokens of the member's account.

pub mod request;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fleet_accumulator::one_line;
use fleet_api::{ResourceKind, names};
use fleet_runtime::clients::{self, certificates_to_pem, require_encryption};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use rcgen::KeyPair;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{Access, Contexts};
use crate::args::{Cli, JoinArgs};
use crate::credentials::Credentials;
use crate::handover::show;
use crate::manifests::delete_manifest;
use crate::member_objects::{check_name, rights, title};
use crate::objects::{apply, delete, find};
use crate::output::{print, report};
use crate::place::{check_hub, keep, make_namespace, place};
use crate::rbac::ROLE_BINDING;
use crate::{token, yaml};
use request::Checked;

/// Secret of the member with the key of its request.
const KEY_SECRET: &str = "fleet-join-request";
/// Key in that Secret.
const KEY: &str = "tls.key";
/// Role and RoleBinding on the hub of who holds the certificate.
const ROLE: &str = "fleet-join";
/// Longest time in which the hub signs a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two reads.
const LOOK: Duration = Duration::from_millis(200);
/// The kind of a request.
const REQUEST: ResourceKind = ResourceKind {
    group: "certificates.k8s.io",
    version: "v1",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    namespaced: false,
};
/// The kind of a Secret.
const SECRET: ResourceKind =
    ResourceKind { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };

/// What the hub's administrator hands back.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Approval {
    member: String,
    #[serde(rename = "hubURL")]
    hub_url: String,
    /// Base64 of PEM; none if the system's certificates do.
    #[serde(rename = "hubCA", default, skip_serializing_if = "Option::is_none")]
    hub_ca: Option<String>,
    /// Base64 of PEM.
    certificate: String,
}

/// Step 1.
pub(crate) async fn request(cli: &Cli, args: &JoinArgs) -> Result<ExitCode> {
    check_name(&args.name)?;
    let own = own(cli, args).await?;
    make_namespace(&own, &args.secret_namespace).await?;
    let key = match stored_key(&own, args).await? {
        Some(key) => key,
        None => store_key(&own, args).await?,
    };
    let pem = request::make(&args.name, &key)?;
    print(&yaml::write(&request::object(&args.name, &pem))?)?;
    report(&format!(
        "Next, give the request above to an administrator of the hub, who runs: fleetctl join {} --approve FILE. It contains nothing \
         secret. Compare its fingerprint on another way: {}",
        args.name,
        request::fingerprint(&pem)?
    ));
    Ok(ExitCode::SUCCESS)
}

/// Step 2.
pub(crate) async fn approve(cli: &Cli, args: &JoinArgs, file: &Path) -> Result<ExitCode> {
    check_name(&args.name)?;
    let object: Value = read(file)?;
    let checked = request::check(&args.name, &object);
    let Checked { pem, user } = checked.with_context(|| file.display().to_string())?;
    report(&format!("The request has the fingerprint {}", request::fingerprint(&pem)?));
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?;
    check_hub(&hub.write, &args.name).await?;
    place(&hub.write, args).await?.account(&args.name)?;
    if args.dry_run {
        report("Nothing was changed (--dry-run).");
        return Ok(ExitCode::SUCCESS);
    }
    for object in rights_to_finish(&args.name, &user) {
        apply(&hub.write, &object, false).await?;
    }
    let certificate = sign(&hub.write, &args.name, &pem).await?;
    let config = contexts.config(&contexts.hub).await?;
    let url = args.hub_url.clone().unwrap_or_else(|| hub.url.clone());
    let approval = Approval {
        member: args.name.clone(),
        hub_url: url.trim_end_matches('/').to_owned(),
        hub_ca: config.root_cert.as_deref().map(|der| STANDARD.encode(certificates_to_pem(der))),
        certificate: STANDARD.encode(certificate),
    };
    print(&yaml::write(&approval)?)?;
    report(&format!(
        "Next, give the approval above to the administrator of {0}, who runs within a day: fleetctl join {0} --finish FILE. It \
         contains nothing secret",
        args.name
    ));
    Ok(ExitCode::SUCCESS)
}

/// Step 3.
pub(crate) async fn finish(cli: &Cli, args: &JoinArgs, file: &Path) -> Result<ExitCode> {
    check_name(&args.name)?;
    let approval: Approval = read(file)?;
    if approval.member != args.name {
        bail!("{} is an approval for {}", file.display(), approval.member);
    }
    let own = own(cli, args).await?;
    let key = stored_key(&own, args).await?;
    let key = key.with_context(|| {
        let namespace = &args.secret_namespace;
        format!("the member has no Secret {namespace}/{KEY_SECRET}: start with fleetctl join {} --request", args.name)
    })?;
    let hub = hub(&approval, &key).await?;
    let accounts = rights(&args.name)?;
    let account = accounts.iter().find(|object| object["kind"] == "ServiceAccount");
    let account = account.context("member-rbac.yaml has no ServiceAccount")?;
    let token = token::make(&hub, account, args).await?;
    let authority = approval.hub_ca.as_deref().map(|text| STANDARD.decode(text)).transpose();
    let credentials = Credentials {
        member: args.name.clone(),
        url: approval.hub_url.clone(),
        authority: authority?.map(String::from_utf8).transpose()?,
        token,
        renewed: token::renewed(args),
        secret: args.secret_name.clone(),
        secret_namespace: args.secret_namespace.clone(),
    };
    keep(&own, &credentials).await?;
    delete(&own, SECRET, Some(&args.secret_namespace), KEY_SECRET).await?;
    report(&format!("Joined {} to the hub at {}", args.name, approval.hub_url));
    show(args, &credentials, true)?;
    Ok(ExitCode::SUCCESS)
}

/// The member's own cluster. No context of a hub is needed.
async fn own(cli: &Cli, args: &JoinArgs) -> Result<Client> {
    let named = cli.access.members.iter().find(|(name, _)| *name == args.name);
    let context = named.map_or(&args.name, |(_, context)| context).clone();
    let access = Access { hub_context: Some(context.clone()), ..cli.access.clone() };
    let contexts: Contexts = access.contexts()?;
    Ok(contexts.connect(&context).await?.write)
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let read = yaml::read(&text).map_err(|error| anyhow::anyhow!(one_line(&error)));
    read.with_context(|| format!("{} was not made by the step before", file.display()))
}

async fn stored_key(own: &Client, args: &JoinArgs) -> Result<Option<KeyPair>> {
    let secrets: Api<Secret> = Api::namespaced(own.clone(), &args.secret_namespace);
    let secret = secrets.get_opt(KEY_SECRET).await;
    let secret = secret.map_err(|error| anyhow::anyhow!("read the key: {}", one_line(&error)))?;
    let key = secret.and_then(|secret| secret.data?.remove(KEY));
    let key = key.map(|key| String::from_utf8(key.0)).transpose()?;
    key.map(|key| KeyPair::from_pem(&key).context("the key of the request is none")).transpose()
}

async fn store_key(own: &Client, args: &JoinArgs) -> Result<KeyPair> {
    let key = KeyPair::generate()?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": KEY_SECRET, "namespace": args.secret_namespace },
        "data": { KEY: STANDARD.encode(key.serialize_pem()) },
    });
    apply(own, &secret, false).await?;
    Ok(key)
}

/// Who holds the certificate may request tokens of the member's account, and nothing else.
fn rights_to_finish(member: &str, user: &str) -> [Value; 2] {
    let (group, namespace) = ("rbac.authorization.k8s.io", names::member_namespace(member));
    let metadata = json!({ "name": ROLE, "namespace": namespace });
    let version = format!("{group}/v1");
    [
        json!({
            "apiVersion": version, "kind": "Role", "metadata": metadata,
            "rules": [{
                "apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": ["member-agent"],
                "verbs": ["create"],
            }],
        }),
        json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": group, "kind": "Role", "name": ROLE },
            "subjects": [{ "kind": "User", "apiGroup": group, "name": user }],
        }),
    ]
}

/// Takes the rights from the holder of a certificate: it is valid for a day, and the account may be another by then.
///
/// # Errors
/// If the hub does not answer.
pub(crate) async fn revoke(hub: &Client, member: &str) -> Result<()> {
    // Who may make a member's rights may not always delete them: nothing is asked of them where there is nothing.
    let namespace = names::member_namespace(member);
    if find(hub, ROLE_BINDING, Some(&namespace), ROLE).await?.is_none() {
        return Ok(());
    }
    for object in rights_to_finish(member, "").iter().rev() {
        if delete_manifest(hub, object).await? {
            report(&format!("Deleted {}", title(object)));
        }
    }
    Ok(())
}

/// Lets the hub sign a request; the certificate, PEM. Nothing of it stays.
async fn sign(hub: &Client, member: &str, pem: &str) -> Result<Vec<u8>> {
    let name = request::name(member);
    delete(hub, REQUEST, None, &name).await?;
    let requests: Api<CertificateSigningRequest> = Api::all(hub.clone());
    let failed = |error| anyhow::anyhow!("approve the request: {}", one_line(&error));
    let object = serde_json::from_value(request::object(member, pem))?;
    requests.create(&PostParams::default(), &object).await.map_err(failed)?;
    let condition = json!({
        "type": "Approved", "status": "True", "reason": "FleetctlJoin",
        "message": "approved with fleetctl join --approve",
    });
    let approved = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
    requests.patch_approval(&name, &PatchParams::default(), &approved).await.map_err(failed)?;
    let signed = async {
        loop {
            let status = requests.get(&name).await.map_err(failed)?.status.unwrap_or_default();
            if let Some(certificate) = status.certificate {
                return anyhow::Ok(certificate.0);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let signed = tokio::time::timeout(PATIENCE, signed).await;
    delete(hub, REQUEST, None, &name).await?;
    signed.unwrap_or_else(|_| {
        bail!(
            "the hub signs no certificates of clients (kubernetes.io/kube-apiserver-client): join with contexts of both clusters \
             instead, as fleetctl join {member} --secret"
        )
    })
}

/// The hub, as the user of the certificate.
async fn hub(approval: &Approval, key: &KeyPair) -> Result<Client> {
    let mut cluster = json!({ "server": approval.hub_url });
    if let Some(authority) = &approval.hub_ca {
        cluster["certificate-authority-data"] = authority.clone().into();
    }
    let user = json!({
        "client-certificate-data": approval.certificate,
        "client-key-data": STANDARD.encode(key.serialize_pem()),
    });
    let file: Kubeconfig = serde_json::from_value(json!({
        "current-context": "hub",
        "clusters": [{ "name": "hub", "cluster": cluster }],
        "users": [{ "name": "hub", "user": user }],
        "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": "hub" } }],
    }))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| anyhow::anyhow!("the approval: {}", one_line(&error)))?;
    require_encryption(&config.cluster_url)
        .map_err(|reason| anyhow::anyhow!("the approval: {reason}"))?;
    Ok(clients::from_config("hub", config).await?.write)
}
