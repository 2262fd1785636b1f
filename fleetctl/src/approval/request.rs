//! The request of a member: a certificate signing request for one user, and what the hub's administrator checks of it. Pure.

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData as _};
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

/// A request that can be signed.
#[derive(Debug)]
pub struct Checked {
    /// The request, PEM.
    pub pem: String,
    /// The user that may request the member's token.
    pub user: String,
}

/// The user that may request a member's token with this public key (DER). By the key too, so that rights which are given for a later
/// request are none for the certificate of an earlier one. Common names have 64 characters at most.
fn user(member: &str, key: &[u8]) -> String {
    let digest = Sha256::new().chain_update(member).chain_update([0]).chain_update(key).finalize();
    format!("{USER}{}", hex(&digest[..16]).concat())
}

/// The name of a member's CertificateSigningRequest.
pub(super) fn name(member: &str) -> String {
    format!("fleet-join-{member}")
}

/// A member's request, PEM.
pub fn make(member: &str, key: &KeyPair) -> Result<String> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    let user = user(member, &key.subject_public_key_info());
    params.distinguished_name.push(DnType::CommonName, user);
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

/// The request in an object that was handed over. Nothing else of it is used.
///
/// # Errors
/// If it is not a request for this member's user and for nothing else: another user could be anybody on the hub.
pub fn check(member: &str, object: &Value) -> Result<Checked> {
    let encoded =
        object["spec"]["request"].as_str().context("this is no request of fleetctl join")?;
    let encoded: String = encoded.split_whitespace().collect();
    let pem = STANDARD.decode(encoded).context("its request is not base64")?;
    let pem = String::from_utf8(pem).context("its request is not PEM")?;
    let der = der(&pem)?;
    let Some(user) = subject_of(&der).and_then(|rest| its_user(member, rest)) else {
        bail!(
            "it is not for {member}, or for more than that: it was made for another member, or by another program"
        );
    };
    // As it was read: what stands around it in the text is left out.
    let lines = STANDARD.encode(der);
    let lines = lines.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned());
    let pem = format!("{BEGIN}\n{}\n{END}\n", lines.collect::<Vec<_>>().join("\n"));
    Ok(Checked { pem, user })
}

/// What two people compare to be sure that they talk about the same request.
pub(super) fn fingerprint(pem: &str) -> Result<String> {
    Ok(hex(&Sha256::digest(der(pem)?)).join(":"))
}

fn hex(bytes: &[u8]) -> Vec<String> {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn der(pem: &str) -> Result<Vec<u8>> {
    let body = pem.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let body: String = body.context("its request is not PEM")?.split_whitespace().collect();
    STANDARD.decode(body).context("its request is not PEM")
}

/// The user of a member in what begins with the subject of a request, and goes on with its key; `None` if it is for another one.
fn its_user(member: &str, der: &[u8]) -> Option<String> {
    let key = element(der.get(element(der)?.len()..)?)?;
    let user = user(member, key);
    der.starts_with(&subject(&user)).then_some(user)
}

/// The first element of a text in DER, as a whole.
fn element(der: &[u8]) -> Option<&[u8]> {
    let content = sequence(der)?;
    let length = match *der.get(1)? {
        0x81 => usize::from(*der.get(2)?),
        0x82 => usize::from(u16::from_be_bytes([*der.get(2)?, *der.get(3)?])),
        short => usize::from(short),
    };
    der.get(..der.len() - content.len() + length)
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
        // A user's name has at most 64 characters, so all lengths are below 128.
        let length = u8::try_from(content.len()).unwrap_or(u8::MAX);
        [vec![tag, length], content].concat()
    };
    let text = wrap(UTF8, common_name.as_bytes().to_vec());
    wrap(0x30, wrap(0x31, wrap(0x30, [COMMON_NAME.to_vec(), text].concat())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &DistinguishedName, key: &KeyPair) -> Value {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = name.clone();
        object("east", &params.serialize_request(key).unwrap().pem().unwrap())
    }

    #[test]
    fn a_request_is_checked_as_it_was_made() {
        for member in ["east", "a", &"x".repeat(50)] {
            let pem = make(member, &KeyPair::generate().unwrap()).unwrap();
            let Checked { pem: checked, user } = check(member, &object(member, &pem)).unwrap();
            assert_eq!(fingerprint(&checked).unwrap(), fingerprint(&pem).unwrap());
            assert!(user.starts_with(USER) && user.len() <= 64, "{user}");
            assert_eq!(fingerprint(&pem).unwrap().len(), 32 * 3 - 1);
        }
    }

    /// The certificate would make its holder that user.
    #[test]
    fn a_request_for_another_user_is_refused() {
        let key = KeyPair::generate().unwrap();
        let pem = make("west", &key).unwrap();
        let error = check("east", &object("east", &pem)).unwrap_err().to_string();
        assert!(error.contains("it is not for east"), "{error}");
        let named = |parts: &[(DnType, &str)]| {
            let mut name = DistinguishedName::new();
            for (part, text) in parts {
                name.push(part.clone(), *text);
            }
            check("east", &of(&name, &key))
        };
        let east = user("east", &key.subject_public_key_info());
        let (common, group) = (DnType::CommonName, (DnType::OrganizationName, "system:masters"));
        assert_eq!(named(&[(common.clone(), &east)]).unwrap().user, east);
        assert!(named(&[(common.clone(), "system:kube-controller-manager")]).is_err());
        assert!(named(&[(common.clone(), "fleet-join:east")]).is_err(), "without a key");
        assert!(named(&[(common.clone(), &east), group.clone()]).is_err(), "a group");
        assert!(named(&[group, (common.clone(), &east)]).is_err(), "a group first");
        assert!(named(&[(common.clone(), &format!("{east}0"))]).is_err(), "a longer name");
        assert!(named(&[]).is_err(), "no name");
        let other = user("east", &KeyPair::generate().unwrap().subject_public_key_info());
        assert!(named(&[(common, &other)]).is_err(), "the user of another key");
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
