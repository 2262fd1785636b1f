//! Which members are silent, and what that means for their endpoints (docs/design/traffic.md#silence).

pub(crate) mod action;
pub(crate) mod bound;
pub(crate) mod importer;
pub(crate) mod judgement;
pub(crate) mod member;
pub(crate) mod settings;
