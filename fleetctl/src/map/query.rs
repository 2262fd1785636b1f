//! What the address of the page asks for. It holds all state, so that an address can be kept and compared.

use std::fmt::Write as _;

use fleet_api::ObjectName;
use http::Uri;
use serde::Deserialize;

/// Longest value of a field that counts.
const MAX: usize = 600;

/// The state of the page. Unknown or invalid values count as absent: an address may be old.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Part of the names of Services or members that are shown.
    pub search: String,
    /// The only namespace that is shown.
    pub namespace: String,
    /// Whether only Services with a problem are shown.
    pub problems: bool,
    /// What the panel is about.
    pub selected: Option<Selected>,
    /// An action whose result is shown.
    pub what_if: Option<WhatIf>,
    /// Number of the frame; the newest without one.
    pub at: Option<usize>,
    /// Page of the matrix, from 0.
    pub page: usize,
    /// `light` or `dark`; as the browser prefers without one.
    pub theme: Option<&'static str>,
}

/// What the panel is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// A Service.
    Service(ObjectName),
    /// What a member exports of it.
    Export(ObjectName, String),
    /// What a member imports of it.
    Import(ObjectName, String),
    /// A member.
    Member(String),
}

/// An action whose result is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhatIf {
    /// The cluster of a member fails.
    Lose(String),
    /// A member is drained.
    Drain(String),
}

/// The fields as they are written in the address.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fields {
    q: String,
    ns: String,
    problems: String,
    sel: String,
    whatif: String,
    at: String,
    page: String,
    theme: String,
}

impl From<Fields> for Query {
    fn from(fields: Fields) -> Self {
        let text =
            |text: String| if text.len() > MAX { String::new() } else { text.trim().to_owned() };
        Self {
            search: text(fields.q),
            namespace: text(fields.ns),
            problems: !fields.problems.is_empty(),
            selected: Selected::parse(&text(fields.sel)),
            what_if: WhatIf::parse(&text(fields.whatif)),
            at: fields.at.parse().ok(),
            page: fields.page.parse().unwrap_or_default(),
            theme: match fields.theme.as_str() {
                "light" => Some("light"),
                "dark" => Some("dark"),
                _ => None,
            },
        }
    }
}

impl Selected {
    /// Reads `member:NAME`, `service:NAMESPACE/NAME`, `export:NAMESPACE/NAME:MEMBER` or `import:...`.
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        let edge = || {
            let (service, member) = rest.split_once(':')?;
            Some((ObjectName::parse(service)?, member.to_owned()))
        };
        match kind {
            "member" => Some(Self::Member(rest.to_owned())),
            "service" => ObjectName::parse(rest).map(Self::Service),
            "export" => edge().map(|(service, member)| Self::Export(service, member)),
            "import" => edge().map(|(service, member)| Self::Import(service, member)),
            _ => None,
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        match self {
            Self::Member(name) => format!("member:{name}"),
            Self::Service(service) => format!("service:{service}"),
            Self::Export(service, member) => format!("export:{service}:{member}"),
            Self::Import(service, member) => format!("import:{service}:{member}"),
        }
    }
}

impl WhatIf {
    fn parse(text: &str) -> Option<Self> {
        let (what, member) = text.split_once(':').filter(|(_, member)| !member.is_empty())?;
        match what {
            "lose" => Some(Self::Lose(member.to_owned())),
            "drain" => Some(Self::Drain(member.to_owned())),
            _ => None,
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        match self {
            Self::Lose(member) => format!("lose:{member}"),
            Self::Drain(member) => format!("drain:{member}"),
        }
    }
}

impl Query {
    /// The state that an address has, as the server reads it; `None` where its fields cannot be.
    pub fn read(address: &Uri) -> Option<Self> {
        axum::extract::Query::<Fields>::try_from_uri(address).ok().map(|fields| fields.0.into())
    }

    /// The fields with their values, of those that are set.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        let mut add = |name, value: String| {
            if !value.is_empty() {
                fields.push((name, value));
            }
        };
        add("q", self.search.clone());
        add("ns", self.namespace.clone());
        add("problems", if self.problems { "1".to_owned() } else { String::new() });
        add("sel", self.selected.as_ref().map(Selected::text).unwrap_or_default());
        add("whatif", self.what_if.as_ref().map(WhatIf::text).unwrap_or_default());
        add("at", self.at.map(|at| at.to_string()).unwrap_or_default());
        add("page", if self.page > 0 { self.page.to_string() } else { String::new() });
        add("theme", self.theme.unwrap_or_default().to_owned());
        fields
    }

    /// The address of the page in this state, relative to the page.
    pub fn href(&self) -> String {
        let mut href = "./?".to_owned();
        for (index, (name, value)) in self.fields().into_iter().enumerate() {
            let _ = write!(href, "{}{name}={}", if index > 0 { "&" } else { "" }, encoded(&value));
        }
        href
    }

    /// The same state with another selection.
    #[must_use]
    pub fn select(&self, selected: Selected) -> Self {
        Self { selected: Some(selected), ..self.clone() }
    }
}

/// Text in the value of a field.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(href: &str) -> Query {
        let query = href.strip_prefix("./?").unwrap();
        Query::read(&format!("http://a/?{query}").parse().unwrap()).unwrap()
    }

    fn full() -> Query {
        let service = ObjectName::new("shop", "web");
        Query {
            search: "a b&c=ü".to_owned(),
            namespace: "shop".to_owned(),
            problems: true,
            selected: Some(Selected::Import(service, "west".to_owned())),
            what_if: Some(WhatIf::Lose("east".to_owned())),
            at: Some(7),
            page: 2,
            theme: Some("dark"),
        }
    }

    #[test]
    fn an_address_has_all_state() {
        for query in [full(), Query::default()] {
            assert_eq!(read(&query.href()), query);
        }
        let service = ObjectName::new("shop", "web");
        let all = [
            Selected::Member("east".to_owned()),
            Selected::Service(service.clone()),
            Selected::Export(service, "east".to_owned()),
        ];
        for selected in all {
            let query = Query::default().select(selected);
            assert_eq!(read(&query.href()), query);
        }
        let drain = Query { what_if: Some(WhatIf::Drain("a".to_owned())), ..Query::default() };
        assert_eq!(read(&drain.href()), drain);
    }

    #[test]
    fn what_is_no_state_counts_as_absent() {
        let none = read("./?at=-1&page=x&sel=planet:mars&whatif=destroy:east&theme=pink&other=1");
        assert_eq!(none, Query::default());
        assert_eq!(read("./?whatif=lose:&sel=service:web"), Query::default());
        assert_eq!(read(&format!("./?q={}", "a".repeat(MAX + 1))), Query::default());
    }
}
