//! Signatures of manifests as cosign makes and verifies them: ECDSA over P-256 and SHA-256 of a small document that names the
//! manifest, kept in the same repository under a tag made of its digest.

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::blobs::{Content, to_bytes};
use crate::layout::{Kind, Layout};

/// Media type of the document that is signed.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Annotation of its layer with the signature.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// What stands before the point of a public key of P-256 in its usual form: the names of algorithm and curve, and the length.
const PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A private key.
#[derive(Debug)]
pub struct Key {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Key {
    /// Reads a private key of P-256 in PKCS#8, as PEM. No error has a part of the key in it.
    ///
    /// # Errors
    /// If the text has another key, or an encrypted one.
    pub fn parse(text: &str) -> Result<Self> {
        let random = SystemRandom::new();
        let pem = pem::parse(text).map_err(|_| anyhow!("the key is no PEM"))?;
        ensure!(
            pem.tag() == "PRIVATE KEY",
            "the key is not in PKCS#8, or encrypted: convert it with openssl pkcs8 -topk8 -nocrypt"
        );
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pem.contents(), &random);
        let pair = pair.map_err(|_| anyhow!("the key is none of ECDSA over P-256"))?;
        Ok(Self { pair, random })
    }

    /// The public key, as PEM.
    pub fn public(&self) -> String {
        let point = self.pair.public_key().as_ref();
        pem::encode_config(
            &pem::Pem::new("PUBLIC KEY", [&PREFIX, point].concat()),
            pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF),
        )
    }

    fn sign(&self, bytes: &[u8]) -> Result<String> {
        let signature = self.pair.sign(&self.random, bytes);
        Ok(STANDARD.encode(signature.map_err(|_| anyhow!("the system has no random numbers"))?))
    }
}

/// Signs a manifest of a layout. `repository` is the name under which it is published.
///
/// # Errors
/// If the descriptor has no digest, or the system no random numbers.
pub fn sign(layout: &mut Layout, descriptor: &Value, repository: &str, key: &Key) -> Result<()> {
    let digest = descriptor["digest"].as_str().context("the descriptor has no digest")?;
    let payload = to_bytes(&payload(repository, digest));
    let signature = key.sign(&payload)?;
    let mut layer = layout.blobs.add(PAYLOAD, payload);
    let config = json!({
        "architecture": "", "os": "", "config": {},
        "rootfs": { "type": "layers", "diff_ids": [layer["digest"]] },
    });
    layer["annotations"] = json!({ SIGNATURE: signature });
    let config = layout.blobs.add("application/vnd.oci.image.config.v1+json", to_bytes(&config));
    let content = Content { config: Some(config), layers: vec![layer], ..Content::default() };
    let manifest = layout.blobs.manifest(content);
    layout.list(&manifest, Some(&format!("{}.sig", digest.replace(':', "-"))), Kind::Signatures);
    Ok(())
}

/// The document that is signed.
fn payload(repository: &str, digest: &str) -> Value {
    json!({
        "critical": {
            "identity": { "docker-reference": repository },
            "image": { "docker-manifest-digest": digest },
            "type": "cosign container image signature",
        },
        "optional": null,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

    use super::*;

    /// A new key, as text and read from it.
    pub(crate) fn key() -> (String, Key) {
        let random = SystemRandom::new();
        let bytes = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let text = pem::encode(&pem::Pem::new("PRIVATE KEY", bytes.as_ref()));
        let key = Key::parse(&text).unwrap();
        (text, key)
    }

    #[test]
    fn a_signature_names_the_manifest_and_verifies_with_the_public_key() {
        let (_, key) = key();
        let mut layout = Layout::default();
        let signed = layout.blobs.index(&[]);
        sign(&mut layout, &signed, "example/web", &key).unwrap();
        let blobs: Vec<Value> =
            layout.blobs.iter().filter_map(|(_, it)| serde_json::from_slice(it).ok()).collect();
        let manifest = blobs.iter().find(|it| it.get("layers").is_some()).unwrap();
        let layer = &manifest["layers"][0];
        let digest = layer["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let (_, payload) = layout.blobs.iter().find(|(one, _)| *one == digest).unwrap();
        let parsed: Value = serde_json::from_slice(payload).unwrap();
        assert_eq!(parsed["critical"]["image"]["docker-manifest-digest"], signed["digest"]);
        let signature = STANDARD.decode(layer["annotations"][SIGNATURE].as_str().unwrap()).unwrap();
        let public = pem::parse(key.public()).unwrap();
        let point = public.contents().strip_prefix(&PREFIX[..]).unwrap();
        let verifier = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
        verifier.verify(payload, &signature).unwrap();
        assert!(verifier.verify(b"another", &signature).is_err());
    }

    #[test]
    fn other_keys_are_refused_and_not_shown() {
        let (text, _) = key();
        let secret = text.lines().nth(1).unwrap();
        for wrong in [
            String::new(),
            text.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"),
            text.replace("PRIVATE KEY", "EC PRIVATE KEY"),
            text.replace(secret, &secret.chars().rev().collect::<String>()),
        ] {
            let error = format!("{:?}", Key::parse(&wrong).unwrap_err());
            assert!(!error.contains(&secret[..12]), "{error}");
        }
    }
}
