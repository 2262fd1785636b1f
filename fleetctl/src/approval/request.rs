//! The request of a member: a certificate signing request for one user, and what the hub's administrator checks of it. Pure.

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Begins the name of the user that a certificate stands for.
const USER: &str = "fleet-join:";
/// Signs certificates of clients.
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
/// How long a certificate is valid, in seconds: as long as the member's administrator may take to finish.
const LIFETIME: i32 = 24 * 3600;
const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const END: &str = "-----END CERTIFICATE REQUEST-----";

/// The user that may request a member's token.
pub(super) fn user(member: &str) -> String {
    format!("{USER}{member}")
}

/// The name of a member's CertificateSigningRequest.
pub(super) fn name(member: &str) -> String {
    format!("fleet-join-{member}")
}

/// A member's request, PEM.
pub fn make(member: &str, key: &KeyPair) -> Result<String> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, user(member));
    Ok(params.serialize_request(key)?.pem()?)
}

/// The object that the member's administrator hands over, and the hub's administrator creates.
pub fn object(member: &str, pem: &str) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": { "name": name(member) },
        "spec": {
            "request": STANDARD.encode(pem), "signerName": SIGNER, "expirationSeconds": LIFETIME,
            "usages": ["digital signature", "client auth"],
        },
    })
}

/// The request in an object that was handed over, PEM. Nothing else of it is used.
///
/// # Errors
/// If it is not a request for this member's user and for nothing else: another user could be anybody on the hub.
pub fn check(member: &str, object: &Value) -> Result<String> {
    let encoded =
        object["spec"]["request"].as_str().context("this is no request of fleetctl join")?;
    let encoded: String = encoded.split_whitespace().collect();
    let pem = STANDARD.decode(encoded).context("its request is not base64")?;
    let pem = String::from_utf8(pem).context("its request is not PEM")?;
    let der = der(&pem)?;
    if subject_of(&der).is_none_or(|rest| !rest.starts_with(&subject(&user(member)))) {
        bail!(
            "it is not for {}, or for more than that: it was made for another member, or by another program",
            user(member)
        );
    }
    // As it was read: what stands around it in the text is left out.
    let lines = STANDARD.encode(der);
    let lines = lines.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned());
    Ok(format!("{BEGIN}\n{}\n{END}\n", lines.collect::<Vec<_>>().join("\n")))
}

/// What two people compare to be sure that they talk about the same request.
pub(super) fn fingerprint(pem: &str) -> Result<String> {
    let digest = Sha256::digest(der(pem)?);
    let bytes: Vec<_> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(bytes.join(":"))
}

fn der(pem: &str) -> Result<Vec<u8>> {
    let body = pem.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let body: String = body.context("its request is not PEM")?.split_whitespace().collect();
    STANDARD.decode(body).context("its request is not PEM")
}

/// What begins with the subject in a request: the part behind the headers of two sequences and the version.
fn subject_of(der: &[u8]) -> Option<&[u8]> {
    const VERSION: [u8; 3] = [2, 1, 0];
    sequence(sequence(der)?)?.strip_prefix(&VERSION)
}

/// The content of a sequence, and what follows it.
fn sequence(der: &[u8]) -> Option<&[u8]> {
    let [0x30, length, rest @ ..] = der else { return None };
    match *length {
        0..=0x7f => Some(rest),
        0x81 => rest.get(1..),
        0x82 => rest.get(2..),
        _ => None,
    }
}

/// A subject that has a common name and nothing else, DER.
fn subject(common_name: &str) -> Vec<u8> {
    const COMMON_NAME: [u8; 5] = [6, 3, 0x55, 4, 3];
    const UTF8: u8 = 0x0c;
    let wrap = |tag: u8, content: Vec<u8>| -> Vec<u8> {
        // A member's name has at most 50 characters, so all lengths are below 128.
        let length = u8::try_from(content.len()).unwrap_or(u8::MAX);
        [vec![tag, length], content].concat()
    };
    let text = wrap(UTF8, common_name.as_bytes().to_vec());
    wrap(0x30, wrap(0x31, wrap(0x30, [COMMON_NAME.to_vec(), text].concat())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &DistinguishedName) -> Value {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = name.clone();
        object("east", &params.serialize_request(&key).unwrap().pem().unwrap())
    }

    #[test]
    fn a_request_is_checked_as_it_was_made() {
        for member in ["east", "a", &"x".repeat(50)] {
            let pem = make(member, &KeyPair::generate().unwrap()).unwrap();
            let checked = check(member, &object(member, &pem)).unwrap();
            assert_eq!(fingerprint(&checked).unwrap(), fingerprint(&pem).unwrap());
            assert_eq!(fingerprint(&pem).unwrap().len(), 32 * 3 - 1);
        }
    }

    /// The certificate would make its holder that user.
    #[test]
    fn a_request_for_another_user_is_refused() {
        let pem = make("west", &KeyPair::generate().unwrap()).unwrap();
        let error = check("east", &object("east", &pem)).unwrap_err().to_string();
        assert!(error.contains("it is not for fleet-join:east"), "{error}");
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, "system:kube-controller-manager");
        assert!(check("east", &of(&name)).is_err());
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, "fleet-join:east");
        assert!(check("east", &of(&name)).is_ok());
        name.push(DnType::OrganizationName, "system:masters");
        assert!(check("east", &of(&name)).is_err(), "a group");
        let mut name = DistinguishedName::new();
        name.push(DnType::OrganizationName, "system:masters");
        name.push(DnType::CommonName, "fleet-join:east");
        assert!(check("east", &of(&name)).is_err(), "a group first");
        name = DistinguishedName::new();
        name.push(DnType::CommonName, "fleet-join:east-2");
        assert!(check("east", &of(&name)).is_err(), "a longer name");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let encoded = |text: &str| json!({ "spec": { "request": STANDARD.encode(text) } });
        for object in [
            json!({}),
            json!({ "spec": { "request": "%" } }),
            encoded("hello"),
            encoded(&format!("{BEGIN}\n{END}\n")),
            encoded(&format!("{BEGIN}\nMIIB\n{END}\n")),
        ] {
            assert!(check("east", &object).is_err(), "{object}");
        }
    }

    /// What a person reads is what is signed: of several requests none is.
    #[test]
    fn two_requests_are_none() {
        let pem = make("east", &KeyPair::generate().unwrap()).unwrap();
        assert!(check("east", &object("east", &pem.repeat(2))).is_err());
    }
}
