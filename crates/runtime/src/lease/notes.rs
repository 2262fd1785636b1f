//! What processes of an agent hand on to the next that leads, in annotations of the Lease by which they elect it: the Lease is
//! renewed anyway, so that it costs no request.

use std::collections::BTreeMap;

type Write = Box<dyn Fn() -> BTreeMap<String, String> + Send + Sync>;
type Read = Box<dyn Fn(BTreeMap<String, String>) + Send + Sync>;

/// Notes in a Lease.
pub struct Notes {
    pub(super) write: Write,
    pub(super) read: Read,
}

impl Notes {
    /// `write` returns what each renewal carries. `read` gets what the Lease has whenever this process reads it, which it does before
    /// its first renewal; nothing if there is no Lease, or no election.
    pub fn new(
        write: impl Fn() -> BTreeMap<String, String> + Send + Sync + 'static,
        read: impl Fn(BTreeMap<String, String>) + Send + Sync + 'static,
    ) -> Self {
        Self { write: Box::new(write), read: Box::new(read) }
    }

    /// There is no election, and nothing was handed on.
    pub(crate) fn without_election(self) {
        (self.read)(BTreeMap::new());
    }
}
