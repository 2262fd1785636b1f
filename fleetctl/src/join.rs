//! `fleetctl join`: creates a member's namespace and rights on the hub, and the credentials of its agent.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use fleet_runtime::clients::{ClientSet, certificates_to_pem};

use crate::access::Contexts;
use crate::approval;
use crate::args::{Cli, JoinArgs, Print};
use crate::credentials::Credentials;
use crate::handover::show;
use crate::member_objects::check_name;
use crate::output::report;
use crate::place::{self, Identity, check_hub, place};
use crate::replace;
use crate::token;

/// Joins.
pub(crate) async fn run(cli: &Cli, args: &JoinArgs) -> Result<ExitCode> {
    check_name(&args.name)?;
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?;
    let client = &hub.write;
    // Before anything is written on the hub.
    let own = if args.secret { Some(own(&contexts, args)?) } else { None };
    check_hub(client, &args.name).await?;
    let identity = place(client, args).await?;
    let needs_none =
        matches!(identity, Identity::Own(_)) && args.print == Print::Nothing && !args.secret;
    let account = if needs_none { None } else { Some(identity.account(&args.name)?) };
    // Only now: it takes the name from the cluster that has it.
    if args.replace {
        replace::run(&contexts, client, args).await?;
    }
    if args.dry_run {
        report("Nothing was changed (--dry-run).");
        return Ok(ExitCode::SUCCESS);
    }
    // From now on the account is another holder's.
    if args.replace || account.is_some() && (args.secret || args.print != Print::Nothing) {
        approval::revoke(client, &args.name).await?;
    }
    let Some(account) = account else { return Ok(ExitCode::SUCCESS) };
    let token = token::make(client, &account, args).await?;
    let credentials = credentials(&contexts, &hub, args, token).await?;
    if let Some(own) = own {
        place::keep(&contexts.connect(own).await?.write, &credentials).await?;
    }
    show(args, &credentials, args.secret)?;
    Ok(ExitCode::SUCCESS)
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
        renewed: token::renewed(args),
        secret: args.secret_name.clone(),
        secret_namespace: args.secret_namespace.clone(),
    })
}

/// The context of the member's own cluster.
fn own<'a>(contexts: &'a Contexts, args: &JoinArgs) -> Result<&'a str> {
    let name = &args.name;
    let context = contexts.of_member(name);
    context.with_context(|| format!("no context for {name}: use --member {name}=CONTEXT"))
}
