//! Certificates as text.

use fleet_accumulator::one_line;
use pem::{EncodeConfig, LineEnding, Pem};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// DER certificates as PEM, one after the other.
pub fn certificates_to_pem<T: AsRef<[u8]>>(certificates: &[T]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    let encoded = certificates.iter().map(|der| {
        let certificate = Pem::new("CERTIFICATE", der.as_ref());
        pem::encode_config(&certificate, config)
    });
    encoded.collect()
}

/// The DER certificates in PEM; what else is in it is left out.
///
/// # Errors
/// If it cannot be read to its end, or has no certificate. One line, with nothing of a key that is there by mistake.
pub fn certificates_from_pem(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let certificates = CertificateDer::pem_slice_iter(text)
        .map(|certificate| certificate.map(|der| der.to_vec()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("not PEM: {}", one_line(&error)))?;
    if certificates.is_empty() {
        return Err("no certificate in it".to_owned());
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read_to_the_end_or_not_at_all() {
        let one = certificates_to_pem(&[[1, 2]]);
        let text = format!("a bundle\n{one}-----BEGIN X-----\nAA==\n-----END X-----\n{one}");
        assert_eq!(certificates_from_pem(text.as_bytes()), Ok(vec![vec![1, 2], vec![1, 2]]));
        let cut = &text[..text.len() - 10];
        assert!(certificates_from_pem(cut.as_bytes()).unwrap_err().starts_with("not PEM: "));
        assert_eq!(certificates_from_pem(b"a").unwrap_err(), "no certificate in it");
    }

    /// As environment variables often have it.
    #[test]
    fn a_key_without_its_line_feeds_is_not_repeated() {
        for (text, reason) in [
            ("-----BEGIN PRIVATE KEY-----MIIE-----END PRIVATE KEY-----", "a section does not end"),
            ("-----BEGIN PRIVATE KEY-----MIIE", "a line begins a section and has more in it"),
        ] {
            let error = certificates_from_pem(text.as_bytes()).unwrap_err();
            assert_eq!(error, format!("not PEM: {reason}"));
        }
    }

    /// As RFC 7468 wants it.
    #[test]
    fn pem_lines_are_64_long() {
        let text = certificates_to_pem(&[[0; 60]]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[1].len(), 64);
        assert_eq!(lines[2].len(), 16);
        assert_eq!(certificates_to_pem(&[[0; 60], [0; 60]]), text.repeat(2));
    }
}
