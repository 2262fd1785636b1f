//! Who may ask: only who knows the token in the address, and no page of another origin.
//!
//! Other pages in the same browser can send requests to this port, and names can be made to lead to it. So the names of this
//! computer alone are answered, and requests that a browser marks as those of other pages are refused.

use std::fmt::Write as _;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use http::{HeaderMap, Method, header};

/// Random bytes of the token.
const BYTES: usize = 24;

/// Decides which requests are answered.
#[derive(Clone, Debug)]
pub struct Guard {
    token: String,
    hosts: [String; 2],
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its host is none of this computer.
    Host,
    /// Another page sends it.
    Origin,
    /// It does more than to read.
    Method,
    /// It does not have the token. Nothing is revealed to it.
    Token,
}

impl Guard {
    /// A guard of the server at this address, with a token of its own.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new(address: SocketAddr) -> Result<Self> {
        let mut bytes = [0; BYTES];
        let mut source = std::fs::File::open("/dev/urandom").context("open /dev/urandom")?;
        std::io::Read::read_exact(&mut source, &mut bytes).context("read /dev/urandom")?;
        let token = bytes.iter().fold(String::new(), |mut token, byte| {
            let _ = write!(token, "{byte:02x}");
            token
        });
        Ok(Self::with_token(address, token))
    }

    fn with_token(address: SocketAddr, token: String) -> Self {
        let port = address.port();
        Self { token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] }
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.token)
    }

    /// The path of the page.
    pub fn path(&self) -> String {
        format!("/{}/", self.token)
    }

    /// Checks a request.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Refused> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() || !self.hosts.iter().any(|known| Some(known.as_str()) == host) {
            return Err(Refused::Host);
        }
        let is_own = |origin: &str| {
            let host = origin.strip_prefix("http://");
            self.hosts.iter().any(|known| Some(known.as_str()) == host)
        };
        if text(header::ORIGIN).is_some_and(|origin| !is_own(origin)) {
            return Err(Refused::Origin);
        }
        let site = headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or_default());
        if site.is_some_and(|site| !["same-origin", "none"].contains(&site)) {
            return Err(Refused::Origin);
        }
        if method != Method::GET && method != Method::HEAD {
            return Err(Refused::Method);
        }
        let token = path.strip_prefix('/').and_then(|path| path.split_once('/'));
        match token {
            Some((token, _)) if same(token, &self.token) => Ok(()),
            _ => Err(Refused::Token),
        }
    }
}

/// Takes as long for any text of the same length.
fn same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn guard() -> Guard {
        Guard::with_token("127.0.0.1:8000".parse().unwrap(), "secret".to_owned())
    }

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let all = of.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        all.collect()
    }

    #[track_caller]
    fn checks(path: &str, of: &[(&'static str, &'static str)], expected: Result<(), Refused>) {
        assert_eq!(guard().check(&Method::GET, path, &headers(of)), expected, "{path} {of:?}");
    }

    #[test]
    fn who_knows_the_token_is_answered() {
        checks("/secret/", &[("host", "127.0.0.1:8000")], Ok(()));
        checks("/secret/events", &[("host", "localhost:8000")], Ok(()));
        let own = ("origin", "http://127.0.0.1:8000");
        checks("/secret/", &[("host", "127.0.0.1:8000"), own], Ok(()));
        for site in ["same-origin", "none"] {
            checks("/secret/", &[("host", "127.0.0.1:8000"), ("sec-fetch-site", site)], Ok(()));
        }
    }

    #[test]
    fn no_one_else_is() {
        let host = ("host", "127.0.0.1:8000");
        for path in ["/", "", "/secret", "/Secret/", "/secre/", "/secretx/", "//secret/"] {
            checks(path, &[host], Err(Refused::Token));
        }
        for name in ["evil.example:8000", "127.0.0.1", "127.0.0.1:80", "LOCALHOST:8000", ""] {
            checks("/secret/", &[("host", name)], Err(Refused::Host));
        }
        checks("/secret/", &[], Err(Refused::Host));
        for origin in
            ["null", "https://127.0.0.1:8000", "http://evil.example", "http://127.0.0.1:1"]
        {
            checks("/secret/", &[host, ("origin", origin)], Err(Refused::Origin));
        }
        for site in ["cross-site", "same-site"] {
            checks("/secret/", &[host, ("sec-fetch-site", site)], Err(Refused::Origin));
        }
        let two: HeaderMap = {
            let mut all = headers(&[host]);
            all.append(header::HOST, HeaderValue::from_static("127.0.0.1:8000"));
            all
        };
        assert_eq!(guard().check(&Method::GET, "/secret/", &two), Err(Refused::Host));
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let found = guard().check(&method, "/secret/", &headers(&[host]));
            assert_eq!(found, Err(Refused::Method));
        }
    }

    #[test]
    fn each_token_is_another_one() {
        let address = "127.0.0.1:8000".parse().unwrap();
        let [one, other] = [Guard::new(address).unwrap(), Guard::new(address).unwrap()];
        assert_ne!(one.url(), other.url());
        assert_eq!(one.path().len(), 2 * BYTES + 2);
    }
}
