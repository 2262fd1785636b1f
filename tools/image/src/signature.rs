//! Signatures of manifests as cosign makes and verifies them: ECDSA over P-256 and SHA-256 of a small document that names the
//! manifest, kept in the same repository under a tag made of its digest.
//!
//! A [`Signer`] is a key, or a folder with signatures that another program made. The latter keeps the key from this program and
//! from all that it is built of.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde_json::{Value, json};

use crate::blobs::{Content, to_bytes};
use crate::digest::sha256;
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

/// File name of the public key.
pub const PUBLIC_KEY: &str = "cosign.pub";

/// What has or makes signatures of documents.
pub trait Signer {
    /// The public key that verifies them, as PEM.
    fn public(&self) -> &str;

    /// The signature of a document: ECDSA in DER, in base64.
    ///
    /// # Errors
    /// If there is none.
    fn sign(&mut self, document: &[u8]) -> Result<String>;
}

/// A private key.
#[derive(Debug)]
pub struct Key {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    public: String,
}

/// Documents to sign by their SHA-256, which are only collected.
#[derive(Debug, Default)]
pub struct Documents(BTreeMap<String, Vec<u8>>);

/// Signatures in a folder: the public key, and each signature in DER in a file `SHA256.sig`, named by its document.
#[derive(Debug)]
pub struct Signatures {
    folder: PathBuf,
    public: String,
    point: Vec<u8>,
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
        let public = pem::encode_config(
            &pem::Pem::new("PUBLIC KEY", [&PREFIX, pair.public_key().as_ref()].concat()),
            pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF),
        );
        Ok(Self { pair, random, public })
    }
}

impl Signer for Key {
    fn public(&self) -> &str {
        &self.public
    }

    fn sign(&mut self, document: &[u8]) -> Result<String> {
        let signature = self.pair.sign(&self.random, document);
        Ok(STANDARD.encode(signature.map_err(|_| anyhow!("the system has no random numbers"))?))
    }
}

impl Documents {
    /// Writes each document into a file that is named by its SHA-256, in a new folder.
    ///
    /// # Errors
    /// If a file cannot be written, or the folder exists.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir(folder).with_context(|| format!("creating {}", folder.display()))?;
        self.0.iter().try_for_each(|(digest, document)| {
            fs::write(folder.join(digest), document).with_context(|| format!("writing {digest}"))
        })
    }
}

impl Signer for Documents {
    fn public(&self) -> &'static str {
        ""
    }

    fn sign(&mut self, document: &[u8]) -> Result<String> {
        self.0.insert(sha256(document), document.to_vec());
        Ok(String::new())
    }
}

impl Signatures {
    /// Opens a folder with signatures and their public key.
    ///
    /// # Errors
    /// If the public key is missing, or none of P-256.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(PUBLIC_KEY);
        let read =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let pem = pem::parse(&read).context("the public key is no PEM")?;
        let point = pem.contents().strip_prefix(&PREFIX[..]).map(<[u8]>::to_vec);
        let point = point.context("the public key is none of ECDSA over P-256")?;
        let public =
            pem::encode_config(&pem, pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF));
        Ok(Self { folder: folder.to_owned(), public, point })
    }
}

impl Signer for Signatures {
    fn public(&self) -> &str {
        &self.public
    }

    fn sign(&mut self, document: &[u8]) -> Result<String> {
        let name = format!("{}.sig", sha256(document));
        let signature =
            fs::read(self.folder.join(&name)).with_context(|| format!("reading {name}"))?;
        let verified = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point)
            .verify(document, &signature);
        verified.map_err(|_| anyhow!("{name} is not by the key of {PUBLIC_KEY}"))?;
        Ok(STANDARD.encode(signature))
    }
}

/// Signs a manifest of a layout. `repository` is the name under which it is published.
///
/// # Errors
/// If the descriptor has no digest, or there is no signature.
pub fn sign(
    layout: &mut Layout,
    descriptor: &Value,
    repository: &str,
    signer: &mut impl Signer,
) -> Result<()> {
    let digest = descriptor["digest"].as_str().context("the descriptor has no digest")?;
    let payload = to_bytes(&payload(repository, digest));
    let signature = signer.sign(&payload)?;
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
        let (_, mut key) = key();
        let mut layout = Layout::default();
        let signed = layout.blobs.index(&[]);
        sign(&mut layout, &signed, "example/web", &mut key).unwrap();
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
