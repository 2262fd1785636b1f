//! What a token contains about itself. Pure, and unverified: the API server decides whether it is true.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;

/// Beginning of the names of service accounts as users.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// Longest token that is decoded. Tokens are sent in a header, which is shorter.
const LONGEST: usize = 64 << 10;

/// The claims of a token that matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// When it expires; `None` if it never does.
    pub expires: Option<Timestamp>,
    /// When it was issued.
    pub issued: Option<Timestamp>,
    /// Whose it is, if that is a service account.
    pub account: Option<Account>,
    /// Servers that it is for.
    pub audiences: Vec<String>,
}

/// A service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[derive(Deserialize)]
struct Payload {
    exp: Option<f64>,
    iat: Option<f64>,
    sub: Option<String>,
    aud: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Claims {
    /// Reads a token; `None` if it has no claims, as tokens of other kinds.
    pub fn of(token: &str) -> Option<Self> {
        let mut parts = token.trim().split('.');
        let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || payload.len() > LONGEST {
            return None;
        }
        let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
        let payload: Payload = serde_json::from_slice(&payload).ok()?;
        Some(Self {
            expires: payload.exp.and_then(time),
            issued: payload.iat.and_then(time),
            account: payload.sub.as_deref().and_then(account),
            audiences: match payload.aud {
                None => Vec::new(),
                Some(OneOrMany::One(one)) => vec![one],
                Some(OneOrMany::Many(many)) => many,
            },
        })
    }
}

/// Seconds since 1970; a number that is no time is as good as the end or the beginning of time.
#[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
fn time(seconds: f64) -> Option<Timestamp> {
    if seconds.is_nan() {
        return None;
    }
    let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second((seconds as i64).clamp(first, last)).ok()
}

fn account(subject: &str) -> Option<Account> {
    let (namespace, name) = subject.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let plain = |text: &str| {
        let may =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        !text.is_empty() && text.bytes().all(may) && text.bytes().any(|byte| byte != b'.')
    };
    // Both become parts of a path.
    let valid = plain(namespace) && plain(name);
    valid.then(|| Account { namespace: namespace.to_owned(), name: name.to_owned() })
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A token with this payload.
    pub(crate) fn token(payload: &Value) -> String {
        let encode = |text: String| URL_SAFE_NO_PAD.encode(text);
        format!(
            "{}.{}.c2lnbmF0dXJl",
            encode(json!({"alg": "ES256"}).to_string()),
            encode(payload.to_string())
        )
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_claims_of_a_bound_token_are_read() {
        let bound = token(&json!({
            "aud": ["https://hub"], "exp": 1_700_086_400, "iat": 1_700_000_000,
            "sub": "system:serviceaccount:fleet-member-east:member-agent",
        }));
        let claims = Claims::of(&format!("\n{bound} \n")).unwrap();
        assert_eq!(
            (claims.issued, claims.expires),
            (Some(at(1_700_000_000)), Some(at(1_700_086_400)))
        );
        assert_eq!(claims.account.unwrap().to_string(), "fleet-member-east/member-agent");
        assert_eq!(claims.audiences, ["https://hub"]);
    }

    #[test]
    fn a_token_of_a_secret_has_no_end() {
        let lasting = token(&json!({ "sub": "system:serviceaccount:a:b", "aud": "one" }));
        let claims = Claims::of(&lasting).unwrap();
        assert_eq!((claims.expires, claims.issued), (None, None));
        assert_eq!(claims.audiences, ["one"]);
    }

    #[test]
    fn what_is_no_token_has_no_claims() {
        let long = format!("a.{}.c", "e".repeat(LONGEST + 1));
        for text in
            ["", "opaque", "a.b", "a.!.c", "a.e30.c.d", "a.W10.c", "a.eyJleHAiOiJ4In0.c", &long]
        {
            assert_eq!(Claims::of(text), None, "{text}");
        }
        let odd = Claims::of(&token(&json!({ "exp": 1e300, "iat": -1e300 }))).unwrap();
        assert!(odd.expires > Some(at(200_000_000_000)) && odd.issued < Some(at(0)));
    }

    /// A subject decides to which path a request is sent.
    #[test]
    fn only_a_service_account_that_can_be_one_counts() {
        for subject in [
            "east",
            "system:serviceaccount:a",
            "system:serviceaccount:a:",
            "system:serviceaccount::b",
            "system:serviceaccount:a:b/../c",
            "system:serviceaccount:..:b",
            "system:serviceaccount:a:b?x",
            "system:serviceaccount:a:b:c",
            "System:serviceaccount:a:b",
        ] {
            let claims = Claims::of(&token(&json!({ "sub": subject }))).unwrap();
            assert_eq!(claims.account, None, "{subject}");
        }
    }
}
