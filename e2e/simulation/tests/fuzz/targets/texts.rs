//! Short texts: flags, annotations and names.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use fleet_accumulator::{ResourceVersion, Uid};
use fleet_api::offload::PodPhase;
use fleet_api::traffic::own_properties;
use fleet_api::{ServiceInUseBy, TraceContext, names};
use fleet_model::cidr::{Cidr, Cidrs};
use fleet_model::denied_namespaces::DeniedNamespaces;
use fleet_model::multicluster::mode::Mode;
use fleet_model::service_list::ServiceList;
use fleet_runtime::args::{duration, interval, watch_seconds};
use fleet_runtime::credential::SecretKey;
use member_agent::{AllowedReservedCidrs, ImportNamespaces};

use super::Target;
use crate::cost::Bound;

pub(crate) const TARGET: Target = Target {
    name: "texts",
    is_json: false,
    short: 2000,
    bound: Some(Bound { base: 400, per_byte: 30, base_bytes: 64 << 10, bytes_per_byte: 400 }),
    examples,
    read,
};

fn examples() -> Vec<Vec<u8>> {
    let texts = [
        "10.0.0.0/8,fd00::/8, 192.168.0.0/16",
        "team/web,shop/*,*",
        "kube-*,fleet-system",
        "on",
        "clean-up",
        "1m30s",
        "fleet-system/hub-token/token",
        "team,shop/web",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        r#"{"MemberClusters":{"fleet-member-a":"a"}}"#,
        r#"{"topology.kubernetes.io/region":"north","other":"x"}"#,
        "00000000-0000-4000-8000-000000000001",
        "12345",
        "fleet-member-east",
        "CrashLoopBackOff",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn read(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let text = &*text;
    reads_back::<Cidr>(text);
    reads_back::<Cidrs>(text);
    reads_back::<DeniedNamespaces>(text);
    reads_back::<AllowedReservedCidrs>(text);
    reads_back::<SecretKey>(text);
    text.parse::<ServiceList>().ok();
    text.parse::<ImportNamespaces>().ok();
    text.parse::<Mode>().ok();
    for duration in [duration(text), interval(text)].into_iter().flatten() {
        assert!(duration.as_secs() < u64::MAX, "{duration:?}");
    }
    assert!(watch_seconds(text).is_ok_and(|seconds| (1..=290).contains(&seconds)) || watch_seconds(text).is_err());
    if let Some(context) = TraceContext::parse(text) {
        assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
    }
    if let Ok(in_use) = ServiceInUseBy::parse(Some(text)) {
        assert_eq!(ServiceInUseBy::parse(Some(&in_use.to_annotation())), Ok(in_use));
    }
    for (name, value) in own_properties(text) {
        assert!(fleet_api::traffic::OWN_PROPERTIES.contains(&name.as_str()) && value.len() <= 128);
    }
    let uid = Uid::from(text);
    assert!(uid.is(&uid.to_string()) && Uid::from(uid.to_string()) == uid);
    let version = ResourceVersion::from(text);
    assert_eq!(ResourceVersion::from(version.to_string()), version);
    if let Some(member) = names::member_of_namespace(text) {
        assert_eq!(names::member_namespace(member), text);
    }
    if let Some(phase) = PodPhase::parse(text) {
        assert_eq!(phase.as_str(), text);
    }
}

/// What is accepted is written in a way that is read as the same.
fn reads_back<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Debug,
{
    if let Ok(value) = text.parse::<T>() {
        let written = value.to_string();
        assert_eq!(written.parse::<T>().unwrap(), value, "{text:?} is written as {written:?}");
    }
}
