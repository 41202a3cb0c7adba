//! TLS (rustls with ring): offers only HTTP/1.1, resumes sessions, and records certificate errors.
//!
//! A page is worth archiving even if the server's certificate has expired, but the archive must record the certificate
//! error. So the verifier checks the certificate with webpki and stores the error, if there is one, by server name.
//! Despite an error, the handshake continues unless `verify_tls` is set. Errors are stored by server name rather than
//! by connection, because the server does not send its certificate again when a session is resumed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        Resumption, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::tls_error::{handshake_error, tls_error};
use crate::{Failure, FetchSetupError};

/// Number of servers whose TLS sessions are cached. The oldest session is evicted first, so this must exceed the number
/// of sites that are visited at the same time.
const CACHED_SERVERS: usize = 8192;

/// Number of session tickets that rustls keeps for each server. It is needed for the size of the session cache, which
/// rustls measures in tickets, not in servers.
const TICKETS_PER_SERVER: usize = 8;

/// Maximum number of stored certificate errors. When the map is full, it is cleared.
const MAX_CERTIFICATE_ERRORS: usize = 10_000;

/// The TLS configuration of all connections.
pub(crate) struct Tls {
    connector: TlsConnector,
    verifier: Arc<CertificateVerifier>,
}

impl Tls {
    pub(crate) fn new(verify: bool) -> Result<Tls, FetchSetupError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        });
        let webpki = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| FetchSetupError::Tls(error.to_string()))?;
        let verifier = Arc::new(CertificateVerifier {
            webpki,
            provider: provider.clone(),
            verify,
            errors: Mutex::default(),
        });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| FetchSetupError::Tls(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(CACHED_SERVERS * TICKETS_PER_SERVER);
        Ok(Tls {
            connector: TlsConnector::from(Arc::new(config)),
            verifier,
        })
    }

    /// Performs the handshake. Returns the stream, and the certificate error if one was tolerated.
    pub(crate) async fn handshake(
        &self,
        stream: TcpStream,
        host: &str,
    ) -> Result<(Box<TlsStream<TcpStream>>, Option<String>), Failure> {
        let bare = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .trim_end_matches('.');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| Failure::TlsFailed(format!("{host} is not a valid server name")))?;
        let server_name = name.to_str().into_owned();
        let stream = self
            .connector
            .connect(name, stream)
            .await
            .map_err(|error| Failure::TlsFailed(handshake_error(&error)))?;
        let error = self.verifier.errors().get(&server_name).cloned();
        Ok((Box::new(stream), error))
    }
}

#[derive(Debug)]
struct CertificateVerifier {
    webpki: Arc<WebPkiServerVerifier>,
    provider: Arc<CryptoProvider>,
    verify: bool,
    /// Certificate errors by server name. The lock is held for one map operation, never across an await.
    errors: Mutex<HashMap<String, String>>,
}

impl CertificateVerifier {
    fn errors(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verdict = self.webpki.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        let mut errors = self.errors();
        match verdict {
            Ok(verified) => {
                errors.remove(&*server_name.to_str());
                Ok(verified)
            }
            Err(error) if self.verify => Err(error),
            Err(error) => {
                if errors.len() >= MAX_CERTIFICATE_ERRORS {
                    errors.clear();
                }
                errors.insert(server_name.to_str().into_owned(), tls_error(&error));
                Ok(ServerCertVerified::assertion())
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let verdict = self
            .webpki
            .verify_tls12_signature(message, certificate, signed);
        self.tolerate(verdict)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let verdict = self
            .webpki
            .verify_tls13_signature(message, certificate, signed);
        self.tolerate(verdict)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

impl CertificateVerifier {
    /// Accepts a signature that webpki cannot check because it cannot parse the certificate (for example X.509 version
    /// 1). [`verify_server_cert`](ServerCertVerifier::verify_server_cert) has stored that error. A wrong signature
    /// always ends the handshake.
    fn tolerate(
        &self,
        verdict: Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match verdict {
            Err(rustls::Error::InvalidCertificate(error))
                if !self.verify && error != rustls::CertificateError::BadSignature =>
            {
                Ok(HandshakeSignatureValid::assertion())
            }
            verdict => verdict,
        }
    }
}
