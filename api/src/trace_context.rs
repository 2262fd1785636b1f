//! The trace that a change belongs to, as exported slices carry it from cluster to cluster.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};

/// A context in the form of the `traceparent` header of W3C Trace Context, version 00. Because it comes from another
/// cluster, every other form is rejected, including later versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace_id: NonZeroU128,
    /// The parent span.
    pub span_id: NonZeroU64,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

/// The only bit of the flags that is used.
const SAMPLED: u8 = 1;

impl TraceContext {
    /// Reads `00-<32 hexadecimal digits>-<16>-<2>`, in lower case and with neither id zero.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut next = |length| parts.next().and_then(|part| number(part, length));
        let (version, trace_id, span_id, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        let whole = version == 0 && parts.next().is_none();
        whole.then_some(Self {
            trace_id: NonZeroU128::new(trace_id)?,
            span_id: NonZeroU64::new(u64::try_from(span_id).ok()?)?,
            sampled: flags & u128::from(SAMPLED) != 0,
        })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = if self.sampled { SAMPLED } else { 0 };
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace_id, self.span_id)
    }
}

fn number(digits: &str, length: usize) -> Option<u128> {
    let plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let right = digits.len() == length && digits.bytes().all(plain);
    right.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_reads_back_as_written() {
        let context = TraceContext::parse(TEXT).unwrap();
        assert!(context.sampled);
        assert_eq!(context.to_string(), TEXT);
        let quiet = TraceContext { sampled: false, ..context };
        assert_eq!(TraceContext::parse(&quiet.to_string()), Some(quiet));
    }

    #[test]
    fn unknown_flags_are_ignored() {
        for (flags, sampled) in [("00", false), ("02", false), ("03", true), ("ff", true)] {
            let text = TEXT.replace("-01", &format!("-{flags}"));
            assert_eq!(TraceContext::parse(&text).map(|context| context.sampled), Some(sampled));
        }
    }

    #[test]
    fn invalid_texts_are_rejected() {
        let altered =
            [("00-4", "01-4"), ("00-4", "ff-4"), ("4bf9", "4BF9"), ("4bf9", "+bf9"), ("-01", "-1")];
        let altered = altered.map(|(old, new)| TEXT.replacen(old, new, 1));
        let zero = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"]
            .map(|id| TEXT.replace(id, &"0".repeat(id.len())));
        let more = ["-", "-00", " ", "0"].map(|end| format!("{TEXT}{end}"));
        let less = (0..TEXT.len()).map(|end| TEXT[..end].to_owned());
        for text in altered.into_iter().chain(zero).chain(more).chain(less) {
            assert_eq!(TraceContext::parse(&text), None, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_context_is_written_as_it_was_read_except_for_its_flags(text in "00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|.{0,80}") {
            if let Some(context) = TraceContext::parse(&text) {
                proptest::prop_assert_eq!(&context.to_string()[..53], &text[..53]);
            }
        }
    }
}
