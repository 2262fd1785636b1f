//! What reading costs: how often memory is allocated, and how much at most. Both are the same on every machine.

use allocation_counter::measure;

/// What a target may cost for an input of some size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Allocations for any input.
    pub(crate) base: u64,
    /// Allocations for each byte.
    pub(crate) per_byte: u64,
    /// Bytes at once for any input.
    pub(crate) base_bytes: u64,
    /// Bytes at once for each byte.
    pub(crate) bytes_per_byte: u64,
}

impl Bound {
    /// Panics if reading the input costs more.
    pub(crate) fn check(self, input: &[u8], read: impl FnOnce(&[u8])) {
        let size = u64::try_from(input.len()).unwrap();
        let used = measure(|| read(input));
        let most = self.base + self.per_byte * size;
        assert!(used.count_total <= most, "{} allocations for {size} bytes, {most} at most", used.count_total);
        let most = self.base_bytes + self.bytes_per_byte * size;
        assert!(used.bytes_max <= most, "{} bytes at once for {size}, {most} at most", used.bytes_max);
    }
}
