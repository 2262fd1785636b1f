//! What nodes do with the zone hints by which traffic is directed.

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::seen::Proxy;
use crate::doctor::subject::Subject;

/// The first version that follows the hints of traffic policies as they are meant.
const FIRST: (u64, u64) = (1, 34);

/// Whether kube-proxy follows the hints that the agent gives.
pub(super) fn hints(member: &Subject<'_>) -> Outcome {
    let agent = known(&member.own.agent)?.as_ref();
    if !agent.is_some_and(|agent| agent.gives_hints) {
        return Ok(Vec::new());
    }
    let proxy = known(&member.own.proxy)?.as_ref();
    let is_old = |version: &(u64, u64)| *version < FIRST;
    let what = match proxy {
        None => "traffic is directed by zone hints, and kube-system has no DaemonSet kube-proxy: what serves Services here may not \
                 follow them"
            .to_owned(),
        Some(Proxy { version: Some(version), .. }) if is_old(version) => format!(
            "traffic is directed by zone hints, and kube-proxy is {}.{}: it follows them as they are meant from {}.{} on",
            version.0, version.1, FIRST.0, FIRST.1
        ),
        Some(Proxy { mode: Some(mode), .. }) if !FOLLOWS.contains(&mode.as_str()) => {
            format!("traffic is directed by zone hints, which kube-proxy in mode {mode} is not known to follow")
        }
        Some(_) => return Ok(Vec::new()),
    };
    let advice = "unless it follows zone hints, direct traffic by conditions of endpoints: value traffic.dataPlane=conditions of the \
                  chart member-agent";
    let finding = Finding::warning(what, advice);
    // What is not known may follow them, as kube-proxy within another program does: that is for a person to find out.
    let is_known = proxy.and_then(|proxy| proxy.version.as_ref()).is_some_and(is_old);
    if !is_known {
        return Ok(vec![finding]);
    }
    Ok(vec![finding.mend_with(member.helm(&["traffic.dataPlane=conditions"]))])
}

/// Modes that do.
const FOLLOWS: [&str; 4] = ["iptables", "ipvs", "nftables", "kernelspace"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, sound, unread};

    #[test]
    fn hints_need_a_proxy_that_follows_them() {
        let mut world = sound();
        assert_eq!(world.examine(hints), []);
        let proxy = |mode: Option<&str>, version| Proxy { mode: mode.map(str::to_owned), version };
        for (found, words, is_known) in [
            (None, "no DaemonSet kube-proxy", false),
            (Some(proxy(None, Some((1, 33)))), "kube-proxy is 1.33", true),
            (Some(proxy(Some("userspace"), Some((1, 34)))), "in mode userspace", false),
        ] {
            world.own().proxy = Ok(found);
            let found = world.examine(hints);
            assert_eq!(levels(&found), ["warning"]);
            assert!(found[0].what.contains(words), "{found:?}");
            let command = "traffic.dataPlane=conditions";
            let is_mended = found[0].command.as_ref().is_some_and(|it| it.ends_with(command));
            assert_eq!(is_mended, is_known, "{found:?}");
        }
        world.agent().gives_hints = false;
        assert_eq!(world.examine(hints), [], "no hints are given");
        world.agent().gives_hints = true;
        world.own().proxy = Ok(Some(proxy(None, None)));
        assert_eq!(world.examine(hints), [], "its tag is no version");
        world.own().proxy = Err(unread());
        assert_eq!(world.try_examine(hints), Err(unread()));
    }
}
