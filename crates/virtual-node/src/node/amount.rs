//! Amounts of resources, as Kubernetes writes them.

use std::fmt;

use fleet_api::offload::Capacity;

/// An amount, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u128);

const SUFFIXES: [(&str, u128); 14] = [
    ("Ki", 1000 << 10),
    ("Mi", 1000 << 20),
    ("Gi", 1000 << 30),
    ("Ti", 1000 << 40),
    ("Pi", 1000 << 50),
    ("Ei", 1000 << 60),
    ("m", 1),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("T", 1_000_000_000_000_000),
    ("P", 1_000_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000_000),
    ("", 1000),
];

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        Self(all.fold(0, |sum, one| sum.saturating_add(one.0)))
    }
}

impl Amount {
    /// What is left of it.
    #[must_use]
    pub fn without(self, used: Self) -> Self {
        Self(self.0.saturating_sub(used.0))
    }

    /// More than anyone has: what an amount counts as that cannot be read.
    pub const MOST: Self = Self(u128::MAX);

    /// Reads an amount such as `500m`, `2.5`, `16Gi` or `1e3`; `None` for any other text. Less than a thousandth counts as one.
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, factor, parts) = Self::split(text)?;
        Self::number(digits, factor).map(|Self(amount)| Self(amount.div_ceil(parts)))
    }

    /// The digits of an amount, and what they are multiplied with and divided by.
    fn split(text: &str) -> Option<(&str, u128, u128)> {
        for (suffix, parts) in [("n", 1_000_000), ("u", 1000)] {
            if let Some(digits) = text.strip_suffix(suffix) {
                return Some((digits, 1, parts));
            }
        }
        if let Some((digits, exponent)) = exponent(text) {
            let power = 10_u128.checked_pow(exponent.unsigned_abs())?;
            let (times, parts) = if exponent < 0 { (1, power) } else { (power, 1) };
            return Some((digits, times.checked_mul(1000)?, parts));
        }
        let mut suffixes = SUFFIXES.iter();
        suffixes.find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor, 1)))
    }

    fn number(digits: &str, factor: u128) -> Option<Self> {
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

/// The digits and the exponent of an amount such as `1e3`. `1E` is an amount of its own, without one.
fn exponent(text: &str) -> Option<(&str, i32)> {
    let (digits, exponent) = text.split_once(['e', 'E'])?;
    Some((digits, exponent.parse().ok()?))
}

/// In whole units where it is some, else in thousandths.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1000) {
            write!(f, "{}", self.0 / 1000)
        } else {
            write!(f, "{}m", self.0)
        }
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
