//! Charts whose users pin the image of an earlier release: `make upgrade` shows the same with those agents.

use std::collections::BTreeSet;

use fleet_testbed::helm::{Helm, chart};

use crate::{CHARTS, needed, of_kind};

/// What the charts of 0.1.0 give to their agents. An agent stops at a flag that it does not know, and ignores variables: what a
/// chart sets by default beside these is a variable.
const FLAGS: [&str; 13] = [
    "--derived-service-grace-period",
    "--enable-networking-features",
    "--endpointslices",
    "--exclusive-imports",
    "--external-workloads",
    "--fleet-system-namespace",
    "--force-delete-wait-time",
    "--health-probe-bind-address",
    "--leader-election-namespace",
    "--log-level",
    "--max-endpoints-per-slice",
    "--metrics-bind-address",
    "--tls-insecure",
];

#[tokio::test]
async fn an_agent_of_0_1_0_knows_all_flags_that_are_set_by_default() {
    let helm = Helm::v4().await.unwrap();
    let mut set = BTreeSet::new();
    for name in CHARTS {
        let objects =
            helm.template(&chart(name), ("fleet-system", name), &needed(name)).await.unwrap();
        let deployment = of_kind(&objects, "Deployment")[0];
        let flags =
            deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
        let name_of = |flag: &str| flag.split('=').next().unwrap_or_default().to_owned();
        set.extend(flags.iter().map(|flag| name_of(flag.as_str().unwrap())));
    }
    assert_eq!(set, FLAGS.map(str::to_owned).into());
}
