//! Certificates as text.

use pem::{EncodeConfig, LineEnding, Pem};

/// DER certificates as PEM, one after the other.
pub fn certificates_to_pem<T: AsRef<[u8]>>(certificates: &[T]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    let encoded = certificates.iter().map(|der| {
        let certificate = Pem::new("CERTIFICATE", der.as_ref());
        pem::encode_config(&certificate, config)
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
