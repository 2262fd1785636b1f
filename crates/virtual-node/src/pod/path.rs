//! Where in a Pod a field is.

use std::fmt;

/// A path, built from the inside while a Pod is walked, and written only when something is refused.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Field(&'a str),
    Entry(usize),
}

impl<'a> Path<'a> {
    pub(super) const SPEC: Path<'static> = Path { parent: None, segment: Segment::Field("spec") };

    pub(super) fn field(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), segment: Segment::Field(name) }
    }

    pub(super) fn entry(&'a self, index: usize) -> Self {
        Self { parent: Some(self), segment: Segment::Entry(index) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.segment {
            Segment::Field(name) if self.parent.is_some() => write!(f, ".{name}"),
            Segment::Field(name) => f.write_str(name),
            Segment::Entry(index) => write!(f, "[{index}]"),
        }
    }
}
