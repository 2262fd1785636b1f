//! A page of a list, decoded object by object.
//!
//! Decoding a page takes many times its memory, and milliseconds in which the thread does nothing else: a few bytes of text
//! may stand for hundreds of bytes of fields. So the objects of a page are only cut out when it has arrived. Each is decoded
//! after it was taken, and others get their turn in between.

use std::ops::Range;
use std::vec;

use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::Deserialize;
use serde_json::value::RawValue;

/// So much text is taken in one turn, and decoded in some milliseconds.
const TURN_BYTES: usize = 256 << 10;

/// A list without its objects, or a bookmark.
#[derive(Deserialize)]
pub(super) struct Head {
    #[serde(default)]
    pub(super) metadata: ListMeta,
}

/// The text of a page, cut up.
#[derive(Deserialize)]
struct Cut<'a> {
    #[serde(default)]
    metadata: ListMeta,
    /// Never left out: an answer without it is no list, rather than an empty one. A list without
    /// objects may come as `null`.
    #[serde(borrow, deserialize_with = "Option::deserialize")]
    items: Option<Vec<&'a RawValue>>,
}

/// Where the objects of a page are in its text.
pub(super) fn cut(text: &[u8]) -> serde_json::Result<(ListMeta, Vec<Range<usize>>)> {
    let Cut { metadata, items } = serde_json::from_slice(text)?;
    let place = |item: &RawValue| {
        let begin = item.get().as_ptr().addr() - text.as_ptr().addr();
        begin..begin + item.get().len()
    };
    Ok((metadata, items.unwrap_or_default().into_iter().map(place).collect()))
}

/// The objects of a page that are not taken yet.
#[derive(Debug, Default)]
pub(super) struct Objects {
    text: Bytes,
    places: vec::IntoIter<Range<usize>>,
    /// How much text was taken in this turn.
    taken: usize,
}

impl Objects {
    /// The objects at these places of a text; see [`cut`].
    pub(super) fn new(text: Vec<u8>, places: Vec<Range<usize>>) -> Self {
        Self { text: text.into(), places: places.into_iter(), taken: 0 }
    }

    /// Whether so much was taken that others are to get their turn. The next turn begins with that.
    pub(super) fn ends_turn(&mut self) -> bool {
        let ends = self.taken >= TURN_BYTES;
        if ends {
            self.taken = 0;
        }
        ends
    }

    /// Takes the text of the next object.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        let place = self.places.next()?;
        self.taken += place.len();
        Some(self.text.slice(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_taken_from_where_they_are() {
        let text = br#"{"items": [ {"a": "x"},"b",null ], "metadata": {"resourceVersion": "7"}}"#;
        let (metadata, places) = cut(text).unwrap();
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
        let mut objects = Objects::new(text.to_vec(), places);
        let taken: Vec<Bytes> = std::iter::from_fn(|| objects.take()).collect();
        assert_eq!(taken, [&br#"{"a": "x"}"#[..], br#""b""#, b"null"]);
    }

    #[test]
    fn a_list_without_objects_is_empty_and_an_answer_without_items_is_no_list() {
        assert!(cut(br#"{"metadata": {}, "items": null}"#).unwrap().1.is_empty());
        assert!(cut(br#"{"metadata": {}}"#).is_err());
    }
}
