//! Encrypted connections: what `sslmode` and `sslrootcert` of an address mean, as in libpq.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
};
use slipring::{Error, ErrorKind};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How much a connection must be protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Protection {
    /// Never encrypted.
    Disable,
    /// Encrypted when the server can.
    #[default]
    Prefer,
    /// Encrypted, by whoever answers.
    Require,
    /// Encrypted, and the certificate is signed by a known authority.
    VerifyCa,
    /// Encrypted, and the certificate is the named host's.
    VerifyFull,
}

impl FromStr for Protection {
    type Err = String;

    fn from_str(text: &str) -> Result<Protection, String> {
        Ok(match text {
            "disable" => Protection::Disable,
            "allow" | "prefer" => Protection::Prefer,
            "require" => Protection::Require,
            "verify-ca" => Protection::VerifyCa,
            "verify-full" => Protection::VerifyFull,
            _ => {
                return Err(format!(
                    "sslmode is {text:?}; use disable, prefer, require, verify-ca or verify-full"
                ));
            }
        })
    }
}

impl Protection {
    /// What the client asks the server for.
    pub(crate) fn mode(self) -> SslMode {
        match self {
            Protection::Disable => SslMode::Disable,
            Protection::Prefer => SslMode::Prefer,
            Protection::Require | Protection::VerifyCa | Protection::VerifyFull => SslMode::Require,
        }
    }

    /// What makes encrypted connections. With `root`, `Require` checks the signature too.
    ///
    /// # Errors
    /// `StorageUnavailable` for a file of certificates that cannot be read.
    pub(crate) fn connector(self, root: Option<&PathBuf>) -> Result<MakeRustlsConnect, Error> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
        let checks_host = self == Protection::VerifyFull;
        let checks_chain = checks_host
            || self == Protection::VerifyCa
            || (self == Protection::Require && root.is_some());
        let chain = match checks_chain {
            true => Some(verifier(root, &provider)?),
            false => None,
        };
        let verifier = Arc::new(Verifier { chain, checks_host, provider });
        let config = builder.dangerous().with_custom_certificate_verifier(verifier);
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }
}

fn verifier(
    root: Option<&PathBuf>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    match root.filter(|path| path.as_os_str() != "system") {
        Some(path) => {
            let unreadable = |error: &dyn std::fmt::Display| {
                let text = format!("sslrootcert {} cannot be read: {error}", path.display());
                Error::new(ErrorKind::StorageUnavailable, text)
            };
            let list = CertificateDer::pem_file_iter(path).map_err(|e| unreadable(&e))?;
            for certificate in list {
                let certificate = certificate.map_err(|e| unreadable(&e))?;
                roots.add(certificate).map_err(|e| unreadable(&e))?;
            }
        }
        None => {
            // Single certificates of the system that cannot be read are of no use here.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    builder.build().map_err(unusable)
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let text = "no encrypted connection can be made: name certificates with sslrootcert=FILE";
    Error::new(ErrorKind::StorageUnavailable, text).caused_by(error)
}

/// Checks as much of a certificate as `sslmode` says.
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    checks_host: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let verified = chain.verify_server_cert(certificate, intermediates, name, ocsp, now);
        match verified {
            // The name is checked last, so all else is in order.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
