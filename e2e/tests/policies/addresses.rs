//! P2, P3 and P4: slices of a sane size, with addresses that can be endpoints.

use anyhow::{Result, ensure};
use fleet_api::kinds::ENDPOINT_SLICE_EXPORT as KIND;
use serde_json::{Value, json};

use crate::Tests;
use crate::bounds::ports;
use crate::objects::{object, slice};
use crate::ways::{WAYS, Way, change, create, create_by_apply, passed, refused, refused_by_all};
use crate::world::{EAST, World};

/// Not addresses, or not of the family, or not written as they should be.
const NO_ADDRESSES: [(&str, &[&str]); 2] = [
    (
        "IPv4",
        &[
            "",
            " ",
            "web",
            "example.com",
            "10.0.0",
            "10.0.0.1.",
            "10.0.0.256",
            "10.0.0.01",
            "010.0.0.1",
            "10.0.0.1 ",
            " 10.0.0.1",
            "10.0.0.1/32",
            "10.0.0.1:80",
            "0x0a000001",
            "167772161",
            "１0.0.0.1",
            "2001:db8::1",
            "::ffff:10.0.0.1",
            "10.0.0.1%eth0",
            "10,0,0,1",
            "-1.0.0.0",
        ],
    ),
    (
        "IPv6",
        &[
            "10.0.0.1",
            "2001:DB8::1",
            "2001:db8:0:0::1",
            "2001:0db8::1",
            "fd00::1%eth0",
            "[fd00::1]",
            "fd00::1/128",
            "::ffff:10.0.0.1",
            "::ffff:a00:1",
            "fd00:::1",
            "fd00::1 ",
            "1:2:3:4:5:6:7:8:9",
        ],
    ),
];

/// Addresses that lead where no endpoint is.
const RESERVED: [(&str, &[&str]); 2] = [
    (
        "IPv4",
        &[
            "0.0.0.0",
            "0.1.2.3",
            "0.255.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.1",
            "169.254.169.254",
            "224.0.0.1",
            "224.0.1.1",
            "239.1.1.1",
            "240.0.0.1",
            "254.1.1.1",
            "255.255.255.255",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
        ],
    ),
    (
        "IPv6",
        &[
            "::",
            "::1",
            "fe80::1",
            "febf::1",
            "ff00::1",
            "ff02::1",
            "ff0e::1",
            "64:ff9b::a9fe:a9fe",
            "fd00:ec2::254",
            "fd20:ce::254",
        ],
    ),
];

/// Those beside them, and others that pods have.
const FINE: [(&str, &[&str]); 2] = [
    (
        "IPv4",
        &[
            "1.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.1",
            "172.16.0.1",
            "168.63.129.17",
            "192.168.1.1",
            "223.255.255.255",
        ],
    ),
    ("IPv6", &["2001:db8::1", "fd00::1", "64:ff9b:1::a00:1", "fd00:ec2::253", "fec0::1", "::2"]),
];

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P2::slices_have_a_sane_size", slices_have_a_sane_size);
    tests.add("P3::addresses_are_addresses", addresses_are_addresses);
    tests.add("P4::addresses_are_not_reserved", addresses_are_not_reserved);
    tests.add("P4::draining_endpoints_are_endpoints", draining_endpoints_are_endpoints);
}

/// Distinct addresses, to be found in no other test.
fn addresses(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("10.9.{}.{}", number / 250, number % 250 + 1)).collect()
}

fn of_size(name: &str, endpoints: usize, addresses_each: usize, ports: usize) -> Value {
    let mut slice = object(KIND, EAST, name);
    let addresses = addresses(addresses_each);
    slice["spec"]["endpoints"] = match addresses_each {
        1 => self::addresses(endpoints).iter().map(|one| json!({ "addresses": [one] })).collect(),
        _ => (0..endpoints).map(|_| json!({ "addresses": addresses })).collect(),
    };
    slice["spec"]["ports"] = self::ports(ports);
    slice
}

/// The largest legal slice also shows that all rules together stay within what an API server lets policies cost.
async fn slices_have_a_sane_size(world: &World) -> Result<()> {
    let largest = of_size("p2", 1000, 1, 100);
    passed("the largest", create(&world.east, KIND, &largest).await?)?;
    let another = |object: &mut Value| {
        object["spec"]["endpoints"][999]["addresses"] = json!(["10.8.0.1"]);
    };
    for way in [Way::Put, Way::JsonPatch] {
        passed("the largest, changed", change(&world.east, KIND, &largest, way, another).await?)?;
    }
    let many = of_size("p2-many", 20, 100, 1);
    passed("many addresses", create(&world.east, KIND, &many).await?)?;
    passed("no ports", create(&world.east, KIND, &of_size("p2-no-ports", 1, 1, 0)).await?)?;

    // The definition of the kind refuses more endpoints in one list, and more addresses.
    let large = of_size("p2-ports", 1, 1, 101);
    refused("ports", create(&world.east, KIND, &large).await?, "P2")?;
    refused("ports", create_by_apply(&world.east, KIND, &large).await?, "P2")?;
    let grow = |object: &mut Value| {
        object["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.8.0.2"] }]);
    };
    refused_by_all(("grown", &WAYS), &world.east, KIND, &largest, grow, "P2").await
}

async fn addresses_are_addresses(world: &World) -> Result<()> {
    refuses_each(world, "p3", NO_ADDRESSES, "P3").await
}

async fn addresses_are_not_reserved(world: &World) -> Result<()> {
    refuses_each(world, "p4", RESERVED, "P4").await
}

/// Refuses each, alone and behind good ones, and takes all that are fine.
async fn refuses_each(
    world: &World,
    name: &str,
    corpus: [(&str, &[&str]); 2],
    rule: &str,
) -> Result<()> {
    for ((family, bad), (_, fine)) in corpus.into_iter().zip(FINE) {
        let mine = slice(EAST, &format!("{name}-{}", family.to_lowercase()), family, fine);
        passed("fine ones", create(&world.east, KIND, &mine).await?)?;
        for text in bad {
            let what = format!("{text:?} as {family}");
            let alone = slice(EAST, &format!("{name}-bad"), family, &[text]);
            refused(&what, create(&world.east, KIND, &alone).await?, rule)?;
        }
        let worst = bad[bad.len() - 1];
        let spoil = |object: &mut Value| {
            object["spec"]["endpoints"][1]["addresses"] = json!([fine[1], worst]);
        };
        refused_by_all((worst, &WAYS), &world.east, KIND, &mine, spoil, rule).await?;
    }
    Ok(())
}

/// Traffic goes to them too.
async fn draining_endpoints_are_endpoints(world: &World) -> Result<()> {
    for (text, rule) in [("127.0.0.1", "P4"), ("10.0.0.01", "P3")] {
        let mut draining = object(KIND, EAST, "p4-draining");
        draining["spec"]["drainingEndpoints"] = json!([{ "addresses": [text] }]);
        refused(text, create(&world.east, KIND, &draining).await?, rule)?;
    }
    let mut many = of_size("p4-draining-many", 600, 1, 1);
    many["spec"]["drainingEndpoints"] = many["spec"]["endpoints"].clone();
    refused("too many together", create(&world.east, KIND, &many).await?, "P2")?;
    let mut fine = object(KIND, EAST, "p4-draining-fine");
    fine["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    let made = passed("fine ones", create(&world.east, KIND, &fine).await?)?;
    ensure!(
        made["spec"]["drainingEndpoints"].is_array(),
        "the definition knows draining endpoints"
    );
    Ok(())
}
