//! A page of a list, decoded object by object.
//!
//! Decoding a page takes many times its memory, and milliseconds in which the thread does nothing else: a few bytes of text
//! may stand for hundreds of bytes of fields. So the objects of a page are only cut out when it has arrived. Each is decoded
//! when it is taken, and others get their turn in between.

use std::ops::Range;
use std::vec;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// So much text is decoded in one turn, some milliseconds.
const TURN_BYTES: usize = 256 << 10;

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

/// The objects of a page that are not decoded yet.
#[derive(Debug, Default)]
pub(super) struct Objects {
    text: Vec<u8>,
    places: vec::IntoIter<Range<usize>>,
    decoded: usize,
}

impl Objects {
    /// The objects at these places of a text; see [`cut`].
    pub(super) fn new(text: Vec<u8>, places: Vec<Range<usize>>) -> Self {
        Self { text, places: places.into_iter(), decoded: 0 }
    }

    /// Whether so much was decoded that others are to get their turn. The next turn begins with that.
    pub(super) fn ends_turn(&mut self) -> bool {
        let ends = self.decoded >= TURN_BYTES;
        if ends {
            self.decoded = 0;
        }
        ends
    }

    /// Decodes the next object.
    pub(super) fn decode<T: DeserializeOwned>(&mut self) -> Option<serde_json::Result<T>> {
        let place = self.places.next()?;
        self.decoded += place.len();
        Some(serde_json::from_slice(&self.text[place]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_decoded_where_they_are() {
        let text = br#"{"items": [ {"a": "x"},"b",null ], "metadata": {"resourceVersion": "7"}}"#;
        let (metadata, places) = cut(text).unwrap();
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
        let mut objects = Objects::new(text.to_vec(), places);
        let decoded: Vec<serde_json::Value> =
            std::iter::from_fn(|| objects.decode()).map(Result::unwrap).collect();
        assert_eq!(decoded, [serde_json::json!({"a": "x"}), "b".into(), ().into()]);
    }

    #[test]
    fn a_list_without_objects_is_empty_and_an_answer_without_items_is_no_list() {
        assert!(cut(br#"{"metadata": {}, "items": null}"#).unwrap().1.is_empty());
        assert!(cut(br#"{"metadata": {}}"#).is_err());
    }
}
