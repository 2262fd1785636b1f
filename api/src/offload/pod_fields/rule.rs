//! Rules of the table, and the shapes of what crosses.

use crate::offload::{FIRST_PROFILE, Refusal};

/// What becomes of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It crosses.
    Copy(Shape),
    /// It crosses, but for this value, which is left out.
    DropValue(&'static str, Shape),
    /// It crosses, but for this value, which refuses the Pod for a reason of its own.
    RejectValue(&'static str, Refusal, Shape),
    /// This value is left out, any other refuses the Pod.
    RejectUnless(&'static str, Refusal),
    /// `false` crosses. `true` is left out, or refuses the Pod for this reason.
    CopyFalse(Option<Refusal>),
    /// It is left out.
    Drop,
    /// It refuses the Pod, unless it is false, zero or empty: then it is left out.
    Reject(Refusal),
}

impl Rule {
    /// The shape of what crosses, if anything does.
    pub fn shape(self) -> Option<Shape> {
        match self {
            Self::Copy(shape) | Self::DropValue(_, shape) | Self::RejectValue(_, _, shape) => {
                Some(shape)
            }
            Self::CopyFalse(_) => Some(Shape::Bool),
            Self::Drop | Self::Reject(_) | Self::RejectUnless(..) => None,
        }
    }

    /// What becomes of the field, for documentation.
    pub fn text(self) -> String {
        match self {
            Self::Copy(_) => "copied".to_owned(),
            Self::DropValue(value, _) => format!("copied, `{value}` left out"),
            Self::RejectValue(value, why, _) => {
                format!("copied, `{value}` rejected: {}", why.as_str())
            }
            Self::RejectUnless(value, why) => {
                format!("`{value}` left out, else rejected: {}", why.as_str())
            }
            Self::CopyFalse(None) => "copied if false".to_owned(),
            Self::CopyFalse(Some(why)) => {
                format!("copied if false, else rejected: {}", why.as_str())
            }
            Self::Drop => "left out".to_owned(),
            Self::Reject(why) => format!("rejected: {}", why.as_str()),
        }
    }
}

/// The shape of a value that crosses, with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// A text of at most so many characters.
    Text(usize),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// An amount of a resource, as text or number.
    Quantity,
    /// Number or name of a port.
    Port,
    /// Name of a config map of the Pod's namespace.
    ConfigMapName,
    /// Name of a Secret of the Pod's namespace.
    SecretName,
    /// A list of at most so many entries.
    List(usize, &'static Shape),
    /// Texts as keys, at most so many.
    Map(usize, &'static Shape),
    /// An object with fields of its own.
    Object(&'static Record),
}

impl Shape {
    /// The fields below, if this is an object or a list of objects.
    pub fn record(self) -> Option<&'static Record> {
        match self {
            Self::Object(record) => Some(record),
            Self::List(_, each) => each.record(),
            _ => None,
        }
    }
}

/// The fields of an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// The fields that are known, by their names.
    pub fields: &'static [Field],
    /// Why any other field refuses the Pod.
    pub otherwise: Refusal,
}

impl Record {
    /// The field of that name.
    pub fn find(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// One field.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What becomes of it.
    pub rule: Rule,
    /// The version of the table that it came with.
    pub since: i64,
}

impl Field {
    /// The same field of a later version of the table.
    #[must_use]
    pub const fn since(self, since: i64) -> Self {
        Self { since, ..self }
    }
}

pub(super) const fn field(name: &'static str, rule: Rule) -> Field {
    Field { name, rule, since: FIRST_PROFILE }
}

/// The table as rows: the path of each field, `[]` for each entry of a list, and its rule.
pub fn rows(record: &'static Record) -> Vec<(String, Rule)> {
    record.fields.iter().flat_map(of_field).collect()
}

fn of_field(field: &'static Field) -> Vec<(String, Rule)> {
    let below = field.rule.shape().map(of_shape).unwrap_or_default();
    let below = below.into_iter().map(|(path, rule)| (format!("{}{path}", field.name), rule));
    std::iter::once((field.name.to_owned(), field.rule)).chain(below).collect()
}

fn of_shape(shape: Shape) -> Vec<(String, Rule)> {
    let within = |(path, rule): (String, Rule)| (format!("[]{path}"), rule);
    match shape {
        Shape::List(_, each) => of_shape(*each).into_iter().map(within).collect(),
        Shape::Object(record) => {
            rows(record).into_iter().map(|(path, rule)| (format!(".{path}"), rule)).collect()
        }
        _ => Vec::new(),
    }
}
