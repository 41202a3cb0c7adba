//! TLS (rustls with ring): HTTP/1.1 only, sessions resumed, certificate faults recorded.
//!
//! An archive wants the page of a server whose certificate ran out yesterday, and wants to know that it did. So the
//! verifier asks webpki, notes the fault by server name, and lets `verify_tls` decide whether the handshake goes on.
//! The note is by name and not by connection because a resumed session shows no certificate again.

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

use crate::{Failure, FetchSetupError};

/// Servers whose sessions are remembered; fewer than are visited at once would be as good as none, since the oldest is
/// forgotten first.
const SERVERS: usize = 8192;
/// rustls counts tickets, and keeps room for so many of each server.
const TICKETS: usize = 8;

/// Server names whose fault is remembered; the notes are dropped together when there are more.
const MOST_FAULTS: usize = 10_000;

/// The TLS side of all connections.
pub(crate) struct Tls {
    connector: TlsConnector,
    verifier: Arc<Verifier>,
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
        let verifier = Arc::new(Verifier {
            webpki,
            provider: provider.clone(),
            verify,
            faults: Mutex::default(),
        });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| FetchSetupError::Tls(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(SERVERS * TICKETS);
        Ok(Tls {
            connector: TlsConnector::from(Arc::new(config)),
            verifier,
        })
    }

    /// The handshake; with it the certificate's fault, if it was let pass.
    pub(crate) async fn secure(
        &self,
        stream: TcpStream,
        host: &str,
    ) -> Result<(Box<TlsStream<TcpStream>>, Option<String>), Failure> {
        let bare = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .trim_end_matches('.');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| Failure::TlsFailed(format!("{host} cannot be a server name")))?;
        let fault_key = name.to_str().into_owned();
        let stream = self
            .connector
            .connect(name, stream)
            .await
            .map_err(|error| Failure::TlsFailed(error.to_string()))?;
        let fault = self.verifier.faults().get(&fault_key).cloned();
        Ok((Box::new(stream), fault))
    }
}

#[derive(Debug)]
struct Verifier {
    webpki: Arc<WebPkiServerVerifier>,
    provider: Arc<CryptoProvider>,
    verify: bool,
    /// A std mutex: held for one map operation, never across an await.
    faults: Mutex<HashMap<String, String>>,
}

impl Verifier {
    fn faults(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerCertVerifier for Verifier {
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
        let mut faults = self.faults();
        match verdict {
            Ok(verified) => {
                faults.remove(&*server_name.to_str());
                Ok(verified)
            }
            Err(error) if self.verify => Err(error),
            Err(error) => {
                if faults.len() >= MOST_FAULTS {
                    faults.clear();
                }
                faults.insert(server_name.to_str().into_owned(), error.to_string());
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

impl Verifier {
    /// A certificate that webpki cannot read (an X.509 version 1, say) cannot check a signature either; its fault is
    /// already noted. A signature that is wrong under a certificate that can be read ends the handshake.
    fn tolerate(
        &self,
        verdict: Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match verdict {
            Err(rustls::Error::InvalidCertificate(fault))
                if !self.verify && fault != rustls::CertificateError::BadSignature =>
            {
                Ok(HandshakeSignatureValid::assertion())
            }
            verdict => verdict,
        }
    }
}
