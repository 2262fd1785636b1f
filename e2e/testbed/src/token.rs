//! Service account tokens that end sooner than an API server would let them: signed with the cluster's own key, which
//! is the testbed's.

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, SigningKey};
use serde_json::Value;

/// Bytes of each of the two numbers of a signature.
const NUMBER: usize = 32;

/// The same token with another end, in seconds since 1970. `key` is the private key of its issuer, PEM.
pub(super) fn ending_at(token: &str, key: &str, end: i64) -> Result<String> {
    let mut parts = token.split('.');
    let (Some(header), Some(claims)) = (parts.next(), parts.next()) else {
        bail!("this is no token");
    };
    let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims)?)?;
    claims["exp"] = end.into();
    let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims)?);
    let signed = format!("{header}.{claims}");
    let signature = KeyPair::from_pem(key)?.sign(signed.as_bytes())?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(numbers(&signature)?)))
}

/// The two numbers of an ECDSA signature over P-256, out of their DER sequence: tokens have them one after the other.
fn numbers(der: &[u8]) -> Result<[u8; 2 * NUMBER]> {
    let [0x30, length, rest @ ..] = der else { bail!("a signature is a sequence") };
    ensure!(usize::from(*length) == rest.len(), "a signature of another length");
    let mut both = [0; 2 * NUMBER];
    let mut rest = rest;
    for place in both.chunks_exact_mut(NUMBER) {
        let [0x02, length, after @ ..] = rest else { bail!("a signature has two numbers") };
        let (number, after) = after.split_at_checked(usize::from(*length)).context("cut off")?;
        // Leading zeros are there, or not, to make a number positive.
        let number = number.iter().skip_while(|&&byte| byte == 0);
        let number: Vec<u8> = number.copied().collect();
        let zeros = NUMBER.checked_sub(number.len()).context("a number is too long")?;
        place[zeros..].copy_from_slice(&number);
        rest = after;
    }
    Ok(both)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pki;

    #[test]
    fn only_the_end_is_another() {
        let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = encode(json!({ "alg": "ES256" }));
        let token = format!("{header}.{}.signature", encode(json!({ "sub": "me", "exp": 9 })));
        let (key, _) = pki::token_key().unwrap();
        let shorter = ending_at(&token, &key, 5).unwrap();
        let parts: Vec<&str> = shorter.split('.').collect();
        let claims = URL_SAFE_NO_PAD.decode(parts[1]).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((parts[0], claims), (header.as_str(), json!({ "sub": "me", "exp": 5 })));
        assert_eq!(URL_SAFE_NO_PAD.decode(parts[2]).unwrap().len(), 2 * NUMBER);
    }

    #[test]
    fn numbers_are_filled_up_and_stripped() {
        let der = [0x30, 8, 0x02, 1, 0x07, 0x02, 3, 0x00, 0x80, 0x01];
        let both = numbers(&der).unwrap();
        assert_eq!((both[30], both[31]), (0, 7));
        assert_eq!((both[61], both[62], both[63]), (0, 0x80, 1));
        assert!(numbers(&der[..9]).is_err());
        assert!(numbers(&[0x31, 0]).is_err());
    }
}
