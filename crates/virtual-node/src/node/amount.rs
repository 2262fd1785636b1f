//! Amounts of resources, as Kubernetes writes them.

use fleet_api::offload::Capacity;

/// An amount, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u128);

const SUFFIXES: [(&str, u128); 12] = [
    ("Ki", 1000 << 10),
    ("Mi", 1000 << 20),
    ("Gi", 1000 << 30),
    ("Ti", 1000 << 40),
    ("Pi", 1000 << 50),
    ("m", 1),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("T", 1_000_000_000_000_000),
    ("P", 1_000_000_000_000_000_000),
    ("", 1000),
];

impl Amount {
    /// Reads an amount such as `500m`, `2.5` or `16Gi`; `None` for any other text. Less than a thousandth counts as one.
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, factor) = SUFFIXES
            .iter()
            .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))?;
        let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
        let number = |text: &str| {
            let digits = (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse::<u128>().ok())?
        };
        let scale = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
        let part = number(part)?.checked_mul(factor)?.div_ceil(scale);
        Some(Self(number(whole)?.checked_mul(factor)?.checked_add(part)?))
    }
}

/// The lesser of two amounts, as it was written. One that cannot be read counts as nothing.
pub fn least<'a>(one: &'a str, other: &'a str) -> &'a str {
    match (Amount::parse(one), Amount::parse(other)) {
        (None, _) | (_, None) => "0",
        (Some(first), Some(second)) => {
            if first <= second {
                one
            } else {
                other
            }
        }
    }
}

/// What a virtual node has: the lesser of what is offered and of what the origin's administrators let it have.
pub(super) fn capacity(offer: &Capacity, cap: Option<&Capacity>) -> Capacity {
    let Some(cap) = cap else { return offer.clone() };
    let least = |one: &str, other: &str| least(one, other).to_owned();
    let storage = match (&offer.ephemeral_storage, &cap.ephemeral_storage) {
        (Some(one), Some(other)) => Some(least(one, other)),
        (one, _) => one.clone(),
    };
    let extended = offer.extended.iter().map(|(name, amount)| {
        let capped =
            cap.extended.get(name).map_or_else(|| amount.clone(), |cap| least(amount, cap));
        (name.clone(), capped)
    });
    Capacity {
        cpu: least(&offer.cpu, &cap.cpu),
        memory: least(&offer.memory, &cap.memory),
        ephemeral_storage: storage,
        pods: offer.pods.min(cap.pods),
        extended: extended.collect(),
    }
}
