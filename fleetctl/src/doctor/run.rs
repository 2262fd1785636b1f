//! The command.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use super::checks::{self, DEFINITIONS, DNS_RIGHTS, DNS_VERSION};
use super::corefile::Corefile;
use super::finding::{Level, Unread};
use super::gather;
use super::plan;
use super::report::{Line, Report};
use super::seen::Seen;
use super::subject::Subject;
use crate::args::{Cli, DoctorArgs};
use crate::output::{Format, UNASKED, answer, data, print, print_file, report, terminal};
use crate::shell::{kubectl, quoted};

/// What has to be so before CoreDNS gets the option.
const FIRST: [&str; 3] = [DEFINITIONS, DNS_RIGHTS, DNS_VERSION];

/// Prints the results of all checks, or a Corefile.
pub(crate) async fn run(cli: &Cli, args: &DoctorArgs) -> Result<ExitCode> {
    if args.print_corefile {
        return print_corefile(cli).await;
    }
    if args.fix_plan && cli.output.format.is_data() {
        bail!("--fix-plan is a script: -o json has each command beside its finding");
    }
    let results = checks::examine(&gather::fleet(&cli.access).await?);
    if args.fix_plan {
        print_file(&plan::script(&results, &cli.access.exported()?))?;
        return Ok(exit_code(&results));
    }
    let text = data(cli.output.format, &results)?;
    let wide = cli.output.format == Format::Wide;
    print(&text.unwrap_or_else(|| results.text(wide, cli.output.paint())))?;
    if results.results.iter().any(|line| line.command.is_some()) {
        cli.access.report_for_commands()?;
    }
    Ok(exit_code(&results))
}

/// A run that could check nothing has no answer.
fn exit_code(results: &Report) -> ExitCode {
    if results.results.iter().all(|line| line.level == Level::NotChecked) {
        return ExitCode::from(UNASKED);
    }
    answer(results.failures == 0)
}

/// Prints the Corefile of a member with what names in clusterset.local need, and what has to be so first.
async fn print_corefile(cli: &Cli) -> Result<ExitCode> {
    let [(name, context)] = &cli.access.members[..] else {
        bail!(
            "--print-corefile is for one cluster: name it with --member NAME or --member NAME=CONTEXT"
        );
    };
    let seen = gather::alone(&cli.access, name).await?;
    let (before, after) = corefiles(&seen)?;
    print_file(&after)?;
    if before == after {
        report(
            "Unchanged: the Corefile has the zone clusterset.local and the option multicluster.",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let first = preconditions(checks::examine(&seen));
    for line in &first {
        let advice = line.advice.as_deref().unwrap_or_default();
        let says = format!("Do not apply it yet: {}: {advice}", line.finding);
        report(&terminal::line(&says));
    }
    report(&format!("To apply it: {}", edit(&seen, context)?));
    cli.access.report_for_commands()?;
    Ok(answer(first.is_empty()))
}

/// The command that opens the Corefile of the only member in an editor.
fn edit(seen: &Seen, context: &str) -> Result<String> {
    let name = checks::config_map(&only(seen)?).map_err(|unread| error(&unread))?;
    Ok(format!("{} -n kube-system edit configmap {}", kubectl(context), quoted(name)))
}

fn only(seen: &Seen) -> Result<Subject<'_>> {
    let member = seen.members.first().context("a member")?;
    let own = member.own.as_ref().map_err(error)?;
    Ok(Subject { seen, name: &member.name, own })
}

/// What stands against the change, or is not known.
fn preconditions(results: Report) -> Vec<Line> {
    let is_bad = |line: &Line| matches!(line.level, Level::Failure | Level::NotChecked);
    let lines = results.results.into_iter();
    lines.filter(|line| FIRST.contains(&line.check) && is_bad(line)).collect()
}

/// The Corefile of the only member, and the changed one.
fn corefiles(seen: &Seen) -> Result<(String, String)> {
    let text = checks::corefile(&only(seen)?).map_err(|unread| error(&unread))?;
    let parsed = Corefile::parse(text).context("the Corefile cannot be read")?;
    let changed = parsed.with_clusterset().context(
        "the server of the Corefile that answers clusterset.local has no plugin kubernetes: docs/dns.md has an example",
    )?;
    Ok((text.clone(), changed))
}

fn error(unread: &Unread) -> anyhow::Error {
    anyhow::anyhow!("{}", unread.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{COREFILE, sound, unread};

    #[test]
    fn a_corefile_is_changed_and_stays_if_nothing_is_missing() {
        let mut world = sound();
        assert_eq!(corefiles(&world.seen).unwrap(), (COREFILE.to_owned(), COREFILE.to_owned()));
        let bare = COREFILE.replace("        multicluster clusterset.local\n", "");
        world.own().corefile = Ok(Some(bare.clone()));
        let (before, after) = corefiles(&world.seen).unwrap();
        assert_eq!(before, bare);
        assert!(after.contains("multicluster clusterset.local"), "{after}");
    }

    #[test]
    fn the_command_names_the_configmap_that_coredns_reads() {
        let mut world = sound();
        world.dns().config_map = "rke2".to_owned();
        let expected = "kubectl --context 'my west' -n kube-system edit configmap rke2";
        assert_eq!(edit(&world.seen, "my west").unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_changed_is_an_error() {
        let mut world = sound();
        for (text, expected) in [(". {", "cannot be read"), ("", "has no plugin kubernetes")] {
            world.own().corefile = Ok(Some(text.to_owned()));
            let error = format!("{:#}", corefiles(&world.seen).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
        world.own().corefile = Err(unread());
        let error = corefiles(&world.seen).unwrap_err().to_string();
        assert_eq!(error, "you may not read it");
        world.seen.members[0].own = Err(unread());
        assert!(corefiles(&world.seen).is_err());
    }

    #[test]
    fn definitions_rights_and_version_come_before_the_corefile() {
        let mut world = sound();
        assert_eq!(preconditions(checks::examine(&world.seen)), []);
        world.own().dns_lacks = Ok(vec!["watch"]);
        world.own().served.as_mut().unwrap().v1alpha1.clear();
        world.dns().image = "coredns:latest".to_owned();
        let first = preconditions(checks::examine(&world.seen));
        let checks: Vec<_> = first.iter().map(|line| line.check).collect();
        assert_eq!(checks, FIRST);
    }

    #[test]
    fn only_failures_fail_and_a_blind_run_has_no_answer() {
        let code = |seen: &Seen| format!("{:?}", exit_code(&checks::examine(seen)));
        let expected = |code: u8| format!("{:?}", ExitCode::from(code));
        let mut world = sound();
        assert_eq!(code(&world.seen), expected(0));
        world.report().published_to = None;
        world.own().imports = Err(unread());
        assert_eq!(code(&world.seen), expected(0), "a warning and what may not be read");
        world.report().accepted = None;
        assert_eq!(code(&world.seen), expected(1));
        world.seen.hub = Err(unread());
        world.seen.members[0].own = Err(unread());
        assert_eq!(code(&world.seen), expected(2));
    }
}
