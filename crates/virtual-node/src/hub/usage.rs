//! How much of an offer is in use.

use std::collections::BTreeMap;

use fleet_api::offload::{Capacity, PodExportSpec};
use serde_json::Value;

use crate::node::Amount;

/// What these Pods request together, of what is offered. As a scheduler counts: of init containers the largest counts.
pub fn used<'a>(pods: impl IntoIterator<Item = &'a PodExportSpec>, offered: &Capacity) -> Capacity {
    let mut count = 0;
    let mut sums: BTreeMap<&str, Amount> = BTreeMap::new();
    let names = || ["cpu", "memory", "ephemeral-storage"].into_iter().chain(extended(offered));
    for pod in pods {
        count += 1;
        for name in names() {
            let sum = sums.entry(name).or_default();
            *sum = [*sum, requested(pod, name)].into_iter().sum();
        }
    }
    let sum = |name: &str| sums.get(name).copied().unwrap_or_default().to_string();
    Capacity {
        cpu: sum("cpu"),
        memory: sum("memory"),
        ephemeral_storage: offered.ephemeral_storage.as_ref().map(|_| sum("ephemeral-storage")),
        pods: count,
        extended: extended(offered).map(|name| (name.to_owned(), sum(name))).collect(),
    }
}

/// What is left of an offer.
pub fn free(offered: &Capacity, used: &Capacity) -> Capacity {
    let left = |offered: &str, used: &str| {
        let amount = |text| Amount::parse(text).unwrap_or_default();
        amount(offered).without(amount(used)).to_string()
    };
    let storage = offered.ephemeral_storage.as_ref().zip(used.ephemeral_storage.as_ref());
    let extended = offered.extended.iter().map(|(name, amount)| {
        (name.clone(), left(amount, used.extended.get(name).map_or("0", |used| used)))
    });
    Capacity {
        cpu: left(&offered.cpu, &used.cpu),
        memory: left(&offered.memory, &used.memory),
        ephemeral_storage: storage.map(|(offered, used)| left(offered, used)),
        // An executor can offer any number.
        pods: offered.pods.saturating_sub(used.pods).max(0),
        extended: extended.collect(),
    }
}

fn extended(offered: &Capacity) -> impl Iterator<Item = &str> {
    offered.extended.keys().map(String::as_str)
}

fn requested(pod: &PodExportSpec, name: &str) -> Amount {
    let of = |container: &Value| {
        let resources = &container["resources"];
        let stated = [&resources["requests"][name], &resources["limits"][name]];
        let amount = |value: &Value| match value {
            Value::Number(number) => Amount::parse(&number.to_string()),
            value => value.as_str().and_then(Amount::parse),
        };
        stated.into_iter().find_map(amount).unwrap_or_default()
    };
    let list = |field: &str| pod.pod.0.get(field).and_then(Value::as_array).into_iter().flatten();
    let sidecars =
        list("initContainers").filter(|container| container["restartPolicy"] == "Always");
    let together: Amount = list("containers").chain(sidecars).map(of).sum();
    list("initContainers").map(of).fold(together, Amount::max)
}

#[cfg(test)]
mod tests {
    use fleet_api::offload::PodTemplate;
    use serde_json::json;

    use super::*;

    fn pod(spec: Value) -> PodExportSpec {
        let Value::Object(spec) = spec else { panic!("{spec}") };
        PodExportSpec { pod: PodTemplate(spec), ..PodExportSpec::default() }
    }

    #[test]
    fn requests_are_added_up_as_a_scheduler_does() {
        let offered = Capacity {
            cpu: "4".to_owned(),
            memory: "8Gi".to_owned(),
            pods: 10,
            extended: [("example.com/gpu".to_owned(), "2".to_owned())].into(),
            ..Capacity::default()
        };
        let one = pod(json!({
            "containers": [
                { "resources": { "requests": { "cpu": "500m", "memory": "1Gi" } } },
                { "resources": { "limits": { "cpu": 1, "example.com/gpu": "1" } } },
            ],
            "initContainers": [{ "resources": { "requests": { "memory": "2Gi" } } }],
        }));
        let used = used([&one, &pod(json!({ "containers": [{}] }))], &offered);
        assert_eq!((&*used.cpu, &*used.memory, used.pods), ("1500m", "2147483648", 2));
        assert_eq!(used.extended["example.com/gpu"], "1");
        let free = free(&offered, &used);
        assert_eq!((&*free.cpu, &*free.memory, free.pods), ("2500m", "6442450944", 8));
        assert_eq!((&*free.extended["example.com/gpu"], free.ephemeral_storage), ("1", None));
    }

    #[test]
    fn more_than_is_offered_leaves_nothing() {
        let offered =
            Capacity { cpu: "1".to_owned(), memory: "1".to_owned(), ..Capacity::default() };
        let pod = pod(json!({ "containers": [{ "resources": { "requests": { "cpu": "3" } } }] }));
        let used = used([&pod], &offered);
        let left = free(&offered, &used);
        assert_eq!((&*left.cpu, left.pods), ("0", 0));
        // What an executor offers is read as it is.
        assert_eq!(free(&Capacity { pods: i64::MIN, ..offered }, &used).pods, 0);
    }
}
