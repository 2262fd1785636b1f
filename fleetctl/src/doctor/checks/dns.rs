//! The DNS servers of a cluster: whether names in clusterset.local resolve.

use crate::doctor::corefile::{Corefile, Flaw};
use crate::doctor::finding::{Finding, Outcome, Read, Unread, known};
use crate::doctor::seen::Dns;
use crate::doctor::subject::Subject;
use crate::shell::quoted;

/// The first release of CoreDNS that can read ServiceImports.
const FIRST: [u64; 3] = [1, 12, 2];
/// The page about all this.
const PAGE: &str = "docs/dns.md";

/// Whether CoreDNS is new enough.
pub(super) fn version(member: &Subject<'_>) -> Outcome {
    let image = &dns(member)?.image;
    let Some(found) = version_of(image) else {
        let reason = format!("the tag of its image {image} is no version");
        return Err(Unread::new(reason, "it has to be 1.12.2 or newer: ask its vendor"));
    };
    if found >= FIRST {
        return Ok(Vec::new());
    }
    let what = format!(
        "CoreDNS is {image}, which does not know the option multicluster: with it in the Corefile, it does not start"
    );
    Ok(vec![Finding::failure(
        what,
        "upgrade CoreDNS to 1.12.2 or newer before the Corefile is changed",
    )])
}

fn dns<'a>(member: &Subject<'a>) -> Read<&'a Dns> {
    let missing = || {
        let reason = "no Deployment in kube-system with the label k8s-app=kube-dns runs CoreDNS";
        let advice = format!(
            "if CoreDNS runs elsewhere, compare its configuration with {PAGE}; other DNS servers do not resolve \
                              names in clusterset.local"
        );
        Unread::new(reason, advice)
    };
    known(&member.own.dns)?.as_ref().ok_or_else(missing)
}

/// The version in the tag of an image, such as `registry:5000/coredns:v1.13.1-build2@sha256:...`.
fn version_of(image: &str) -> Option<[u64; 3]> {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    let (_, tag) = image.rsplit_once(':')?;
    let tag = tag.trim_start_matches('v').split(['-', '+', '_']).next()?;
    let mut numbers = tag.split('.').map(|part| part.parse().ok());
    let version = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(version)
}

/// Whether CoreDNS may read ServiceImports.
pub(super) fn rights(member: &Subject<'_>) -> Outcome {
    let account = &dns(member)?.account;
    let lacks = known(&member.own.dns_lacks)?;
    if lacks.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!(
        "CoreDNS, as ServiceAccount kube-system/{account}, may not {} serviceimports.multicluster.x-k8s.io: with multicluster in \
         its Corefile it never becomes ready",
        lacks.join(" or ")
    );
    let advice = "grant it: value multicluster.coreDNS=true of the chart member-agent (for the ServiceAccount coredns), or a \
                  ClusterRole of your own";
    let finding = Finding::failure(what, advice);
    // The chart binds the ServiceAccount of that name.
    Ok(vec![if account == "coredns" {
        finding.mend_with(member.helm(&["multicluster.coreDNS=true"]))
    } else {
        finding
    }])
}

/// Whether the Corefile serves the zone.
pub(super) fn corefile(member: &Subject<'_>) -> Outcome {
    let text = text(member)?;
    let name = &dns(member)?.config_map;
    let parsed = match Corefile::parse(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let what = format!("the Corefile in kube-system/{name} cannot be read: {error}");
            return Ok(vec![Finding::failure(
                what,
                "correct it: CoreDNS does not accept it, either",
            )]);
        }
    };
    let can_be_mended = parsed.with_clusterset().is_some();
    let findings = parsed.flaws().into_iter().map(|flaw| finding(member, flaw, can_be_mended));
    Ok(findings.map(|found| if parsed.imports() { incomplete(found) } else { found }).collect())
}

/// A finding about a Corefile of which a part is elsewhere.
fn incomplete(found: Finding) -> Finding {
    let advice = found.advice.unwrap_or_default();
    let advice = format!(
        "{advice}. What the Corefile brings in by import or variables was not read: look there, too"
    );
    Finding { advice: Some(advice), ..found }
}

/// The name of the ConfigMap in kube-system that CoreDNS reads.
pub(in crate::doctor) fn config_map<'a>(member: &Subject<'a>) -> Read<&'a str> {
    Ok(dns(member)?.config_map.as_str())
}

/// The Corefile of a member.
pub(in crate::doctor) fn text<'a>(member: &Subject<'a>) -> Read<&'a String> {
    let name = &dns(member)?.config_map;
    let missing = || {
        let reason = format!("the ConfigMap kube-system/{name} has no Corefile");
        Unread::new(reason, format!("compare the configuration of CoreDNS with {PAGE}"))
    };
    known(&member.own.corefile)?.as_ref().ok_or_else(missing)
}

fn finding(member: &Subject<'_>, flaw: Flaw, can_be_mended: bool) -> Finding {
    let mend = |finding: Finding| match config_map(member) {
        Ok(name) if can_be_mended => finding.mend(replace(member, name)),
        _ => finding,
    };
    let change = if can_be_mended {
        let argument = member.argument();
        format!(
            "fleetctl doctor --member {argument} --print-corefile prints a Corefile that has it"
        )
    } else {
        format!("write the servers of the Corefile as in {PAGE}")
    };
    match flaw {
        Flaw::NoServer => {
            Finding::failure("no server of the Corefile answers clusterset.local", change)
        }
        Flaw::NoPlugin => Finding::failure(
            "the server of the Corefile that answers clusterset.local has no plugin kubernetes",
            change,
        ),
        Flaw::NoZone => mend(Finding::failure(
            "the plugin kubernetes of the Corefile does not serve the zone clusterset.local",
            change,
        )),
        Flaw::NoOption => mend(Finding::failure(
            "the plugin kubernetes of the Corefile lacks the option multicluster clusterset.local",
            change,
        )),
        Flaw::Hides("namespaces") => Finding::warning(
            "the Corefile restricts the plugin kubernetes to some namespaces: names in others do not exist",
            "add the namespaces of imported Services to the option namespaces, or remove it",
        ),
        Flaw::Hides(option) => Finding::failure(
            format!(
                "the Corefile has the option {option}: CoreDNS applies it to ServiceImports and imported EndpointSlices \
                 themselves, and without these labels no name in clusterset.local resolves"
            ),
            format!("remove {option} from the plugin kubernetes"),
        ),
        Flaw::EmptyIsNothing => Finding::warning(
            "the Corefile has ignore empty_service: an imported Service without ready endpoints has no name",
            "remove the option if clients should get an address at any time",
        ),
    }
}

/// Writes the changed Corefile into its ConfigMap: nothing of it if something has to be so first. Other keys of it, such as files that
/// the Corefile imports, stay.
fn replace(member: &Subject<'_>, config_map: &str) -> String {
    let (kubectl, name) = (member.kubectl(), quoted(config_map));
    let file = quoted_file(member.name);
    format!(
        "fleetctl doctor --member {} --print-corefile > {file} && {kubectl} -n kube-system create configmap {name} \
         --from-file=Corefile={file} --dry-run=client -o json | {kubectl} -n kube-system patch configmap {name} --type merge \
         --patch-file /dev/stdin",
        member.argument()
    )
}

fn quoted_file(member: &str) -> String {
    quoted(&format!("{member}.Corefile")).into_owned()
}

/// Whether the cache on the nodes asks the cluster's DNS.
pub(super) fn node_cache(member: &Subject<'_>) -> Outcome {
    let Some(text) = known(&member.own.node_cache)? else { return Ok(Vec::new()) };
    let advice = format!(
        "add a block for clusterset.local to the ConfigMap kube-system/node-local-dns: {PAGE}#nodelocal-dnscache"
    );
    let finding = match Corefile::parse(text) {
        Ok(parsed) if parsed.forwards_clusterset() => return Ok(Vec::new()),
        Ok(_) => "NodeLocal DNSCache has no block for clusterset.local that forwards to the cluster's DNS: the names are asked \
                  of the servers of the node, which do not know them"
            .to_owned(),
        Err(error) => format!("the Corefile of NodeLocal DNSCache cannot be read: {error}"),
    };
    Ok(vec![Finding::failure(finding, advice)])
}

/// What kubeadm does with such a Corefile.
pub(super) fn kubeadm(member: &Subject<'_>) -> Outcome {
    if !*known(&member.own.is_kubeadm)? {
        return Ok(Vec::new());
    }
    let what = "kubeadm made the cluster: when it upgrades CoreDNS, it may not know the option multicluster, and stop with \
                CoreDNSUnsupportedPlugins";
    let advice = "if it does: kubeadm upgrade apply --ignore-preflight-errors=CoreDNSUnsupportedPlugins, and check the Corefile \
                  with fleetctl doctor afterwards";
    Ok(vec![Finding::information(what, advice)])
}

/// What resolvers of Pods do with names of four dots.
pub(super) fn search_list(member: &Subject<'_>) -> Outcome {
    let serves = Corefile::parse(text(member)?).is_ok_and(|parsed| parsed.flaws().is_empty());
    let what = "with the usual ndots:5 in /etc/resolv.conf of Pods, names in clusterset.local are first tried with each suffix of \
                the search list";
    let advice = "a dot at the end of the name (web.shop.svc.clusterset.local.) saves that";
    Ok(serves.then(|| Finding::information(what, advice)).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{COREFILE, levels, sound, unread};

    #[test]
    fn versions_are_read_from_tags() {
        for (image, expected) in [
            ("registry.k8s.io/coredns/coredns:v1.12.1", Some([1, 12, 1])),
            ("coredns:1.13.0", Some([1, 13, 0])),
            ("registry:5000/coredns:v1.14.2-build.3@sha256:00", Some([1, 14, 2])),
            ("registry:5000/coredns", None),
            ("coredns:latest", None),
            ("coredns@sha256:00", None),
            ("coredns:1.2.3.4", None),
            ("", None),
        ] {
            assert_eq!(version_of(image), expected, "{image}");
        }
    }

    #[test]
    fn an_old_server_does_not_know_the_option() {
        let mut world = sound();
        assert_eq!(world.examine(version), []);
        for (image, expected) in [
            ("coredns:v1.12.1", vec!["failure"]),
            ("coredns:v1.12.2", vec![]),
            ("coredns:1.9.9", vec!["failure"]),
        ] {
            world.dns().image = image.to_owned();
            assert_eq!(levels(&world.examine(version)), expected, "{image}");
        }
        world.dns().image = "coredns:stable".to_owned();
        let reason = world.try_examine(version).unwrap_err().reason;
        assert!(reason.contains("coredns:stable"), "{reason}");
    }

    #[test]
    fn missing_rights_are_named() {
        let mut world = sound();
        assert_eq!(world.examine(rights), []);
        world.own().dns_lacks = Ok(vec!["list", "watch"]);
        let found = world.examine(rights);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("kube-system/coredns, may not list or watch"), "{found:?}");
    }

    #[test]
    fn a_cluster_with_another_server_is_not_checked() {
        let mut world = sound();
        world.own().dns = Ok(None);
        for check in [version, rights, corefile, search_list] {
            let reason = world.try_examine(check).unwrap_err().reason;
            assert!(reason.contains("k8s-app=kube-dns"), "{reason}");
        }
        let mut world = sound();
        world.own().corefile = Ok(None);
        let reason = world.try_examine(corefile).unwrap_err().reason;
        assert!(reason.contains("kube-system/coredns has no Corefile"), "{reason}");
        world.own().corefile = Err(unread());
        assert_eq!(world.try_examine(corefile), Err(unread()));
    }

    fn flaws_of(text: &str) -> Vec<Finding> {
        let mut world = sound();
        world.own().corefile = Ok(Some(text.to_owned()));
        world.examine(corefile)
    }

    #[test]
    fn each_flaw_of_a_corefile_has_its_line() {
        assert_eq!(flaws_of(COREFILE), []);
        let without_zone = COREFILE.replace("cluster.local clusterset.local", "cluster.local");
        let found = flaws_of(&without_zone);
        assert_eq!(levels(&found), ["failure"]);
        assert!(
            found[0]
                .advice
                .as_deref()
                .unwrap()
                .contains("--member west=west-admin --print-corefile")
        );
        let without_option = COREFILE.replace("multicluster clusterset.local", "");
        assert!(flaws_of(&without_option)[0].what.contains("lacks the option"));
        for (option, level) in [
            ("namespace_labels a=b", "failure"),
            ("labels a=b", "failure"),
            ("namespaces shop", "warning"),
            ("ignore empty_service", "warning"),
        ] {
            let text = COREFILE.replace("ttl 5", option);
            let found = flaws_of(&text);
            assert_eq!(levels(&found), [level], "{option}");
            let word = option.split(' ').next().unwrap();
            assert!(found[0].what.contains(word) || word == "namespaces", "{found:?}");
        }
    }

    #[test]
    fn what_cannot_be_mended_has_other_advice() {
        for text in ["", "cluster.local {\n kubernetes\n}", ". {\n forward . 9.9.9.9\n}"] {
            let found = flaws_of(text);
            assert_eq!(levels(&found), ["failure"], "{text}");
            assert!(found[0].advice.as_deref().unwrap().contains("docs/dns.md"), "{found:?}");
        }
        let found = flaws_of(". {\n kubernetes {\n}");
        assert!(found[0].what.contains("line 1: this brace is not closed"), "{found:?}");
    }

    #[test]
    fn what_is_imported_was_not_read() {
        let found = flaws_of("import custom/*\n. {\n kubernetes cluster.local\n}");
        assert_eq!(levels(&found), ["failure", "failure"]);
        assert!(found[0].advice.as_deref().unwrap().contains("look there, too"), "{found:?}");
    }

    #[test]
    fn a_cache_on_nodes_needs_a_block_of_its_own() {
        let mut world = sound();
        assert_eq!(world.examine(node_cache), [], "there is none");
        let block = "clusterset.local:53 {\n errors\n forward . 10.96.0.10\n}\n";
        let rest = ".:53 {\n forward . /etc/resolv.conf\n}\n";
        for (text, expected) in [
            (format!("{block}{rest}"), vec![]),
            (rest.to_owned(), vec!["failure"]),
            (format!("cluster.local:53 {{\n forward . 10.96.0.10\n}}\n{rest}"), vec!["failure"]),
            (format!("clusterset.local {{\n errors\n}}\n{rest}"), vec!["failure"]),
            (
                format!("clusterset.local {{\n forward . /etc/resolv.conf\n}}\n{rest}"),
                vec!["failure"],
            ),
            ("}".to_owned(), vec!["failure"]),
        ] {
            world.own().node_cache = Ok(Some(text.clone()));
            assert_eq!(levels(&world.examine(node_cache)), expected, "{text}");
        }
    }

    #[test]
    fn kubeadm_and_resolvers_are_only_mentioned() {
        let mut world = sound();
        assert_eq!(world.examine(kubeadm), []);
        world.own().is_kubeadm = Ok(true);
        assert_eq!(levels(&world.examine(kubeadm)), ["information"]);
        assert_eq!(levels(&world.examine(search_list)), ["information"]);
        world.own().corefile = Ok(Some(String::new()));
        assert_eq!(world.examine(search_list), [], "no name resolves anyway");
    }
}
