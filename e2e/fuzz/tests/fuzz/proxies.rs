//! Image and configuration of kube-proxy, which `fleetctl doctor` reads.

use fleetctl::doctor::seen::Proxy;
use proptest::prelude::*;

use crate::memory::bounded;
use crate::mutation::text;
use crate::runner::check;

const SEEDS: &str = "corpus/proxies.txt";

/// Lines of a configuration, some of which are none; aliases that are aliases of aliases among them.
const LINES: [&str; 14] = [
    "kind: KubeProxyConfiguration",
    "mode: nftables",
    "mode: \"\"",
    "mode: 7",
    "mode: [iptables]",
    "mode: *a",
    "a: &a [lol, lol, lol, lol, lol, lol, lol, lol]",
    "b: &b [*a, *a, *a, *a, *a, *a, *a, *a]",
    "c: &c [*b, *b, *b, *b, *b, *b, *b, *b]",
    "d: &d [*c, *c, *c, *c, *c, *c, *c, *c]",
    "e: {<<: *a, mode: ipvs}",
    "---",
    "  indented: |",
    "\t",
];

fn configuration() -> impl Strategy<Value = String> {
    let line = prop_oneof![6 => (0..LINES.len()).prop_map(|at| LINES[at].to_owned()), 1 => text()];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

fn image() -> impl Strategy<Value = String> {
    prop_oneof![
        (any::<u64>(), any::<u64>(), "[-.@:a-z]{0,8}")
            .prop_map(|(major, minor, rest)| format!("r:5000/kube-proxy:v{major}.{minor}{rest}")),
        text(),
    ]
}

/// What aliases may repeat whatever the length of the text, in kilobytes.
const REPEATED: usize = 2048;

#[test]
fn a_proxy_has_the_mode_and_the_version_that_are_there() {
    check(SEEDS, 512, &(image(), configuration()), |(image, configuration)| {
        let proxy = bounded(image.len() + configuration.len() + REPEATED, 1024, || {
            Proxy::read(Some(&image), &configuration)
        })?;
        if let Some(mode) = proxy.mode {
            prop_assert!(!mode.is_empty() && configuration.contains("mode"), "{}", mode);
        }
        if let Some((major, minor)) = proxy.version {
            prop_assert!(image.contains(&major.to_string()) && image.contains(&minor.to_string()));
        }
        Ok(())
    });
}
