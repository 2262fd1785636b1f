//! Which cluster, which incarnation of an object, which version of it.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// One of the API servers an agent watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClusterId {
    /// The cluster the agent runs for. For the hub agent that is the hub itself.
    Local,
    /// The hub as seen from a member.
    Hub,
}

impl ClusterId {
    /// Label value in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Hub => "hub",
        }
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Identity of one incarnation of an object; another one of the same name has another uid.
///
/// The usual hyphenated lower-case form is kept in 16 bytes, any other text as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(UidRepr);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum UidRepr {
    Uuid([u8; 16]),
    Text(Arc<str>),
}

/// Length and hyphens of the text form of a uuid.
const UUID_LENGTH: usize = 36;
const UUID_HYPHENS: [usize; 4] = [8, 13, 18, 23];
/// Where in it the two digits of each byte are.
const UUID_DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; UUID_LENGTH] = text.as_bytes().try_into().ok()?;
    if UUID_HYPHENS.iter().any(|at| text[*at] != b'-') {
        return None;
    }
    let mut bytes = [0; 16];
    for (byte, at) in bytes.iter_mut().zip(UUID_DIGITS) {
        *byte = (parse_digit(text[at])? << 4) | parse_digit(text[at + 1])?;
    }
    Some(bytes)
}

fn parse_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Plans print many uids: no digit goes through a formatter.
fn print_uuid(bytes: &[u8; 16]) -> [u8; UUID_LENGTH] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; UUID_LENGTH];
    for (byte, at) in bytes.iter().zip(UUID_DIGITS) {
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 0xf)];
    }
    text
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(parse_uuid(text).map_or_else(|| UidRepr::Text(text.into()), UidRepr::Uuid))
    }
}

impl From<String> for Uid {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            UidRepr::Text(text) => f.write_str(text),
            UidRepr::Uuid(bytes) => {
                let text = print_uuid(bytes);
                f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }
    }
}

impl Uid {
    /// Whether `text` is its text.
    pub fn is(&self, text: &str) -> bool {
        match &self.0 {
            UidRepr::Text(own) => **own == *text,
            UidRepr::Uuid(bytes) => parse_uuid(text).as_ref() == Some(bytes),
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `metadata.resourceVersion`: comparable within one resource type of one cluster only.
///
/// Kubernetes defines versions of one resource type as integers of any size that grow (KEP-5504,
/// 1.35; true in practice before). Text that is no such integer can only be compared for equality.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(VersionRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum VersionRepr {
    Number(u64),
    /// Integers beyond 64 bits and anything that is no integer. Twice boxed because it is never
    /// seen in practice, and the version of every object would be larger for it.
    Text(Arc<Box<str>>),
}

/// Whether `text` is a decimal integer written in the one canonical way.
fn is_canonical(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && (text.len() == 1 || !text.starts_with('0'))
}

impl ResourceVersion {
    /// Orders two versions of the same resource type; `None` where they are not comparable.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (VersionRepr::Number(one), VersionRepr::Number(two)) => Some(one.cmp(two)),
            (one, two) if one == two => Some(Ordering::Equal),
            (VersionRepr::Number(_), VersionRepr::Text(two)) if is_canonical(two) => {
                Some(Ordering::Less)
            }
            (VersionRepr::Text(one), VersionRepr::Number(_)) if is_canonical(one) => {
                Some(Ordering::Greater)
            }
            (VersionRepr::Text(one), VersionRepr::Text(two))
                if is_canonical(one) && is_canonical(two) =>
            {
                Some(one.len().cmp(&two.len()).then_with(|| one.cmp(two)))
            }
            _ => None,
        }
    }

    /// Whether this version is `other` or newer; `None` where they are not comparable.
    pub fn is_at_least(&self, other: &Self) -> Option<bool> {
        self.compare(other).map(Ordering::is_ge)
    }
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        let number = is_canonical(text).then(|| text.parse().ok()).flatten();
        Self(number.map_or_else(|| VersionRepr::Text(Arc::new(text.into())), VersionRepr::Number))
    }
}

impl From<String> for ResourceVersion {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            VersionRepr::Number(number) => write!(f, "{number}"),
            VersionRepr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_prints_back_as_written() {
        for text in [
            "a3f0c2d4-0000-4bcd-8ef0-0123456789ab",
            "A3F0C2D4-0000-4BCD-8EF0-0123456789AB",
            "a3f0c2d4-0000-4bcd-8ef0-0123456789a",
            "a3f0c2d40000-4bcd-8ef0-0123456789abcd",
            "not-a-uuid",
            "",
        ] {
            assert_eq!(Uid::from(text).to_string(), text);
            assert!(Uid::from(text).is(text) && !Uid::from(text).is("other"), "{text}");
        }
    }

    #[test]
    fn a_usual_uid_is_compact() {
        let uid = Uid::from("a3f0c2d4-0000-4bcd-8ef0-0123456789ab");
        assert!(matches!(uid.0, UidRepr::Uuid(_)));
        assert!(size_of::<Uid>() <= 24);
        assert!(size_of::<ResourceVersion>() <= 16);
    }

    #[test]
    fn versions_compare_as_numbers_of_any_size() {
        let version = ResourceVersion::from;
        assert_eq!(version("10").is_at_least(&version("9")), Some(true));
        assert_eq!(version("9").is_at_least(&version("10")), Some(false));
        let huge = "340282366920938463463374607431768211456";
        assert_eq!(version(huge).is_at_least(&version("9")), Some(true));
        assert_eq!(version("9").is_at_least(&version(huge)), Some(false));
        assert_eq!(version(huge).is_at_least(&version(huge)), Some(true));
        assert_eq!(version(huge).compare(&version(&format!("{huge}0"))), Some(Ordering::Less));
    }

    #[test]
    fn versions_that_are_no_numbers_only_compare_when_equal() {
        let version = ResourceVersion::from;
        assert_eq!(version("abc").is_at_least(&version("abc")), Some(true));
        assert_eq!(version("abc").is_at_least(&version("9")), None);
        assert_eq!(version("007").is_at_least(&version("7")), None);
        assert_eq!(version("007").to_string(), "007");
    }
}
