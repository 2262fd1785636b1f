//! What owners and administrators ask for, and which of their objects each field comes from.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::traffic::{self as api, PolicySource, ServiceTrafficSpec};
use fleet_traffic::{
    ClusterSelector, Fallback, LocalEndpoints, Operator, Policy, Preference, Requirement,
    SilenceAction, SilencePolicy, SpillPolicy, Weighting,
};

/// What is asked for, for one Service in this cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Which clusters come first.
    pub(crate) preference: Preference,
    /// What becomes of those that no selector selects.
    pub(crate) fallback: Fallback,
    /// Weighting and early spill.
    pub(crate) policy: Policy,
    /// Weights that the importer or the owner has set.
    pub(crate) weights: BTreeMap<String, u16>,
    /// What becomes of silent members.
    pub(crate) silence: SilencePolicy,
    /// Who writes own slices.
    pub(crate) local: LocalEndpoints,
    /// Where each field comes from, in the order of the fields.
    pub(crate) sources: Vec<(&'static str, PolicySource)>,
}

impl Rules {
    /// The rules that objects give, the strongest first. Each field comes from the first object that has it.
    pub(crate) fn of(objects: &[(PolicySource, &ServiceTrafficSpec)]) -> Self {
        let mut fields = Fields { objects, sources: Vec::new() };
        let (preference, selectors) = fields
            .first("preference", |spec| Some((spec.preference?, spec.cluster_selectors.as_ref())))
            .unwrap_or_default();
        let fallback = fields.first("fallback", |spec| spec.fallback).unwrap_or_default();
        let weighting = fields.first("weighting", |spec| spec.weighting).unwrap_or_default();
        let weights = fields.first("weights", |spec| spec.weights.as_ref());
        let least = fields.first("minSubsetPercent", |spec| spec.min_subset_percent);
        let spill = fields.first("spill", |spec| spec.spill);
        let silence = fields.first("onSilence", |spec| spec.on_silence).unwrap_or_default();
        let local = fields.first("localEndpoints", |spec| spec.local_endpoints).unwrap_or_default();
        let least = least.unwrap_or(api::DEFAULT_MIN_SUBSET_PERCENT);
        Self {
            preference: self::preference(preference, selectors),
            fallback: match fallback {
                api::Fallback::All => Fallback::All,
                api::Fallback::None => Fallback::None,
            },
            policy: Policy {
                weighting: match weighting {
                    api::Weighting::Endpoints => Weighting::Endpoints,
                    api::Weighting::Clusters => {
                        Weighting::Clusters { min_subset_percent: percent(least) }
                    }
                },
                spill: spill.map(self::spill),
            },
            weights: self::weights(weights, objects),
            silence: self::silence(silence),
            local: match local {
                api::LocalEndpoints::Agent => LocalEndpoints::Agent,
                api::LocalEndpoints::Kubernetes => LocalEndpoints::Kubernetes,
            },
            sources: fields.sources,
        }
    }
}

/// Objects, and where the fields that were read so far come from.
struct Fields<'a> {
    objects: &'a [(PolicySource, &'a ServiceTrafficSpec)],
    sources: Vec<(&'static str, PolicySource)>,
}

impl<'a> Fields<'a> {
    fn first<T>(
        &mut self,
        name: &'static str,
        field: impl Fn(&'a ServiceTrafficSpec) -> Option<T>,
    ) -> Option<T> {
        let objects = self.objects.iter();
        let found = objects.copied().find_map(|(source, spec)| Some((source, field(spec)?)));
        let source = found.as_ref().map_or(PolicySource::BuiltIn, |(source, _)| *source);
        self.sources.push((name, source));
        found.map(|(_, value)| value)
    }
}

/// Values come from objects of users, whose definitions bound them.
fn percent(value: i64) -> u8 {
    u8::try_from(value.clamp(0, 100)).unwrap_or(100)
}

fn seconds(value: i64) -> Duration {
    Duration::from_secs(u64::try_from(value).unwrap_or_default())
}

fn weight(weight: &api::ClusterWeight) -> (String, u16) {
    (weight.cluster.clone(), u16::try_from(weight.weight.clamp(0, 1000)).unwrap_or(1000))
}

/// The weights of the strongest object that has some. What the owner of a Service puts out of use on the hub, no importer uses.
fn weights(
    strongest: Option<&Vec<api::ClusterWeight>>,
    objects: &[(PolicySource, &ServiceTrafficSpec)],
) -> BTreeMap<String, u16> {
    let of_owner = objects.iter().filter(|(source, _)| *source == PolicySource::Hub);
    let of_owner = of_owner.flat_map(|(_, spec)| spec.weights.iter().flatten());
    let refused = of_owner.map(weight).filter(|(_, weight)| *weight == 0);
    strongest.into_iter().flatten().map(weight).chain(refused).collect()
}

fn spill(policy: api::SpillPolicy) -> SpillPolicy {
    let size = policy.size.and_then(|size| usize::try_from(size).ok());
    SpillPolicy { below_percent: percent(policy.below_percent), size: size.unwrap_or_default() }
}

fn silence(policy: api::OnSilence) -> SilencePolicy {
    SilencePolicy {
        action: match policy.action {
            api::SilenceAction::Keep => SilenceAction::Keep,
            api::SilenceAction::LastResort => SilenceAction::LastResort,
            api::SilenceAction::Remove => SilenceAction::Remove,
        },
        hold: seconds(policy.hold_seconds),
        remove_after: seconds(policy.remove_after_seconds),
    }
}

fn preference(
    preference: api::Preference,
    selectors: Option<&Vec<api::ClusterSelector>>,
) -> Preference {
    match preference {
        api::Preference::None => Preference::None,
        api::Preference::LocalFirst => Preference::LocalFirst,
        api::Preference::Selectors => {
            Preference::Selectors(selectors.into_iter().flatten().map(selector).collect())
        }
    }
}

fn selector(selector: &api::ClusterSelector) -> ClusterSelector {
    let api::PropertySelector { match_properties, match_expressions } = &selector.property_selector;
    ClusterSelector {
        properties: match_properties.clone(),
        requirements: match_expressions.iter().map(requirement).collect(),
    }
}

fn requirement(requirement: &api::PropertyRequirement) -> Requirement {
    Requirement {
        key: requirement.key.clone(),
        operator: match requirement.operator {
            api::SelectorOperator::In => Operator::In,
            api::SelectorOperator::NotIn => Operator::NotIn,
            api::SelectorOperator::Exists => Operator::Exists,
            api::SelectorOperator::DoesNotExist => Operator::DoesNotExist,
        },
        values: requirement.values.clone(),
    }
}
