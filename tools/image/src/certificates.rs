//! Root certificates that images have, as a file of PEM.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// The crate that has Mozilla's root certificates.
pub const CRATE: &str = "webpki-root-certs";

const TAG: &str = "CERTIFICATE";

/// The licence of the certificates. It asks that its text goes where they go.
const LICENSE: &str = include_str!("certificates/CDLA-Permissive-2.0.txt");

/// Mozilla's root certificates for servers, of the release of [`CRATE`] in `Cargo.lock`, in its order, below their licence.
pub fn mozilla() -> Vec<u8> {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    let all = TLS_SERVER_ROOT_CERTS.iter().map(|one| pem::Pem::new(TAG, one.as_ref()));
    // What is not between the lines of PEM is a comment.
    let mut text = "# Mozilla's root certificates, under the following licence.\n".to_owned();
    for line in LICENSE.lines() {
        text.push_str(format!("# {line}").trim_end());
        text.push('\n');
    }
    text.push_str(&pem::encode_many_config(&all.collect::<Vec<_>>(), config));
    text.into_bytes()
}

/// The certificates in a file, or [`mozilla`]'s.
///
/// # Errors
/// If the file cannot be read, or is none of certificates.
pub fn of(file: Option<&Path>) -> Result<Vec<u8>> {
    let Some(path) = file else { return Ok(mozilla()) };
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    check(&bytes).with_context(|| format!("in {}", path.display()))?;
    Ok(bytes)
}

/// Checks that a file has certificates and nothing else: a private key beside them would be published.
///
/// # Errors
/// If it is no PEM, has no certificate, or something that is none.
fn check(bytes: &[u8]) -> Result<()> {
    // The error could show what is in the file.
    let all = pem::parse_many(bytes).map_err(|_| anyhow!("the certificates are no PEM"))?;
    ensure!(!all.is_empty(), "there is no certificate in the file");
    ensure!(all.iter().all(|one| one.tag() == TAG), "the file has more than certificates");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roots_are_all_certificates_of_the_crate() {
        let bytes = mozilla();
        check(&bytes).unwrap();
        let all = pem::parse_many(&bytes).unwrap();
        assert_eq!(all.len(), TLS_SERVER_ROOT_CERTS.len());
        assert!(all.len() > 50, "{}", all.len());
        for (pem, der) in all.iter().zip(TLS_SERVER_ROOT_CERTS) {
            assert_eq!(pem.contents(), der.as_ref());
            // A sequence, whose length takes two bytes.
            assert_eq!(pem.contents()[..2], [0x30, 0x82]);
        }
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.ends_with("-----END CERTIFICATE-----\n") && !text.contains('\r'));
        let certificates = text.find("-----BEGIN").unwrap();
        assert!(text[certificates..].lines().all(|line| line.len() <= 64));
        assert!(text[..certificates].lines().all(|line| line.starts_with('#')));
        assert!(text.contains("\n# THE DATA IS PROVIDED ON AN \"AS IS\" BASIS"));
    }

    #[test]
    fn a_file_with_a_key_or_without_certificates_is_refused() {
        let key = pem::encode(&pem::Pem::new("PRIVATE KEY", "secret"));
        let with_key = [mozilla(), key.into_bytes()].concat();
        for wrong in [&b""[..], b"certificates", &with_key] {
            assert!(check(wrong).is_err());
        }
    }
}
