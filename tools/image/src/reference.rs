//! Names of repositories and tags, by the grammar of the OCI Distribution Specification 1.1 and its references.

/// Longest name of a repository, with its registry.
const LONGEST: usize = 255;

/// The prefix of names, `REGISTRY[:PORT]/PATH`, as an argument of a program.
///
/// # Errors
/// If no repository can have such a name.
pub fn repository(text: &str) -> Result<String, String> {
    let (registry, path) =
        text.split_once('/').ok_or("must be of the form registry.example/path")?;
    let (host, port) = match registry.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (registry, None),
    };
    if !host.split('.').all(is_label) {
        return Err(format!("{host} is no name of a registry"));
    }
    if port.is_some_and(|port| port.parse::<u16>().is_err() || port.starts_with('+')) {
        return Err(format!("{registry} has no valid port"));
    }
    if let Some(wrong) = path.split('/').find(|one| !is_component(one)) {
        return Err(format!("\"{wrong}\" cannot be a part of a repository's name"));
    }
    // The longest name that is appended is shorter.
    if text.len() + "/charts/member-agent".len() > LONGEST {
        return Err(format!("a name has at most {LONGEST} characters"));
    }
    Ok(text.to_owned())
}

/// A tag, as an argument of a program.
///
/// # Errors
/// If no tag can have such a name.
pub fn tag(text: &str) -> Result<String, String> {
    let word = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    let right = text.bytes().next().is_some_and(word)
        && text.bytes().all(|it| word(it) || matches!(it, b'.' | b'-'))
        && text.len() <= 128;
    if right { Ok(text.to_owned()) } else { Err(format!("\"{text}\" cannot be a tag")) }
}

/// Whether a part of a registry's name between points is one.
fn is_label(text: &str) -> bool {
    let ends = |it: Option<u8>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    ends(text.bytes().next())
        && ends(text.bytes().last())
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}

/// Whether a part of a path between slashes is one: words of small letters and digits, with `.`, `_`, `__` or hyphens between.
fn is_component(text: &str) -> bool {
    let word = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    text.starts_with(word)
        && text.ends_with(word)
        && text.split(word).filter(|between| !between.is_empty()).all(|between| {
            matches!(between, "." | "_" | "__") || between.bytes().all(|it| it == b'-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_repositories() {
        for right in [
            "localhost/fleet-networking",
            "localhost:5000/a",
            "ghcr.io/owner/a__b/c.d-e---f",
            "Registry.example/9",
        ] {
            assert_eq!(repository(right).as_deref(), Ok(right));
        }
        let long = format!("registry.example/{}", "a".repeat(230));
        for wrong in [
            "",
            "fleet",
            "registry.example/",
            "registry.example/Fleet",
            "registry.example//fleet",
            "registry.example/fleet/",
            "registry.example/fleet:1",
            "registry.example/a..b",
            "registry.example/a___b",
            "registry.example/-a",
            "registry.example/a b",
            "registry.example:port/a",
            "registry.example:+1/a",
            "-registry/a",
            "https://registry.example/a",
            &long,
        ] {
            assert!(repository(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_tags() {
        for right in ["1", "v0.2.0-rc.1_x", "_", &"a".repeat(128)] {
            assert_eq!(tag(right).as_deref(), Ok(right));
        }
        for wrong in ["", ".a", "-a", "a+b", "a/b", "a:b", "a b", "ä", &"a".repeat(129)] {
            assert!(tag(wrong).is_err(), "{wrong}");
        }
    }
}
