//! What `fleetctl join` prints when a member has a token.

use anyhow::Result;

use crate::args::{JoinArgs, Print};
use crate::credentials::Credentials;
use crate::output::{print, report};
use crate::yaml;

/// Prints the credentials in the form that was asked for, and what is next.
pub(crate) fn show(args: &JoinArgs, credentials: &Credentials, is_kept: bool) -> Result<()> {
    match args.print {
        Print::Values => print(&credentials.values()?)?,
        Print::Secret => print(&yaml::write(&credentials.secret())?)?,
        Print::Kubeconfig => print(&yaml::write(&credentials.kubeconfig())?)?,
        Print::Token => print(&format!("{}\n", credentials.token))?,
        Print::Nothing => {}
    }
    if args.print == Print::Values {
        next(args, is_kept);
    }
    Ok(())
}

fn next(args: &JoinArgs, is_kept: bool) {
    let name = &args.name;
    if !is_kept {
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
