//! The certificates of one cluster. Each cluster has its own authority, so that a credential or a trust root used for
//! the wrong cluster fails as it would in production.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    key: String,
}

/// A certificate with its private key, both PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key, PKCS #8.
    pub key: String,
}

impl Authority {
    /// A new authority called `name`.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = distinguished_name(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        let text = key.serialize_pem();
        Ok(Self { issuer: Issuer::new(params, key), pem, key: text })
    }

    /// The authority's private key, PEM.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The authority's certificate, PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for a server that answers to these DNS names and IP addresses.
    pub fn server(&self, name: &str, addresses: &[&str]) -> Result<Identity> {
        let alternatives: Vec<String> = addresses.iter().map(|&text| text.to_owned()).collect();
        let mut params = CertificateParams::new(alternatives)?;
        params.distinguished_name = distinguished_name(name, None);
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate that the API server takes as `user`, member of `group`.
    pub fn client(&self, user: &str, group: Option<&str>) -> Result<Identity> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = distinguished_name(user, group);
        self.sign(params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity> {
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

/// The key pair that service account tokens are signed with: private and public half, PEM.
pub fn token_key() -> Result<(String, String)> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

fn distinguished_name(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    name
}
