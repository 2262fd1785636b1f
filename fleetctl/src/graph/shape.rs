//! Boxes and lines.

/// How a box or a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// Nothing stops there.
    #[default]
    Good,
    /// It needs attention: nothing is ready, or it could not be read.
    Odd,
    /// A Service stops there.
    Bad,
}

/// A box. Its texts are as others wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub label: String,
    /// A second line.
    pub note: String,
    /// More about it, for those who point at it.
    pub detail: String,
    /// How it looks.
    pub tone: Tone,
}

/// A line between a member and a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Index of the member in its column.
    pub member: usize,
    /// Index of the row in the middle.
    pub row: usize,
    /// The text beside it.
    pub label: String,
    /// More about it.
    pub detail: String,
    /// How it looks.
    pub tone: Tone,
}
