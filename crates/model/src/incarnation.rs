//! Which hub answers, and since which restart of its history.

use std::fmt;

/// A hub as agents name it to each other: two that are equal have one history.
///
/// A hub that was built anew is another cluster; one that was restored from a backup has a later epoch
/// (docs/design/traffic.md#a-hub-that-was-rebuilt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incarnation<'a> {
    /// The uid of its cluster.
    pub cluster: &'a str,
    /// How often it is known to have gone back in its history.
    pub epoch: i64,
}

impl<'a> Incarnation<'a> {
    /// What an agent has written; `None` if it is no incarnation.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (cluster, epoch) = text.rsplit_once('/')?;
        Some(Self { cluster, epoch: epoch.parse().ok()? })
    }

    /// The epoch, if it is one of this cluster.
    pub fn epoch_of(self, cluster: &str) -> Option<i64> {
        (self.cluster == cluster).then_some(self.epoch)
    }

    /// Whether it is a later one of the same hub.
    pub fn is_after(self, other: Self) -> bool {
        self.cluster == other.cluster && self.epoch > other.epoch
    }
}

/// As it is on the wire.
impl fmt::Display for Incarnation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let written = Incarnation { cluster: "0b51-77", epoch: 3 };
        assert_eq!(written.to_string(), "0b51-77/3");
        assert_eq!(Incarnation::parse("0b51-77/3"), Some(written));
        assert_eq!((written.epoch_of("0b51-77"), written.epoch_of("0b51")), (Some(3), None));
        for other in ["", "0b51-77", "0b51-77/", "0b51-77/three", "0b51-77/99999999999999999999"] {
            assert_eq!(Incarnation::parse(other), None, "{other}");
        }
    }

    #[test]
    fn only_of_one_hub_there_is_a_later_one() {
        let [first, later, other] =
            ["a/1", "a/2", "b/3"].map(|text| Incarnation::parse(text).unwrap());
        assert!(later.is_after(first) && !first.is_after(later));
        assert!(!first.is_after(first) && !other.is_after(first));
    }
}
