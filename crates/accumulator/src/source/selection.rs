//! Some objects of a kind, by selectors that come and go: the Pods of each of several nodes, config maps by their names.
//!
//! A field selector has no "or", and reading all objects to drop most of them would cost the API server, this process and rights
//! that it should not have. So each selection has a list and a watch of its own. For each one whose list was read there is an
//! object beside the others, named by [`Selection::marker`]: what a selection lacks is known to be absent only while it is there.

mod branch;
mod feed;

pub use branch::Selection;
#[cfg(test)]
use feed::SelectedFeed;
pub use feed::selectable;

#[cfg(test)]
mod tests;
