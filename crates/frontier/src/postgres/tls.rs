//! TLS for the connection to the database (rustls).
//!
//! `sslmode=require` in the address demands TLS. The certificate of the server is checked against the public roots. If
//! the environment variable `PGSSLROOTCERT` names a file, the certificates in that file are used instead, as in psql.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::store_error::StoreError;

/// Name of the environment variable with the file of root certificates.
const ROOTS: &str = "PGSSLROOTCERT";

/// Makes TLS connections.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(super) fn new() -> Result<Tls, StoreError> {
        Tls::with_roots(std::env::var_os(ROOTS).map(PathBuf::from))
    }

    /// Trusts only the roots in the file `path`, or the public roots if `path` is `None`.
    fn with_roots(path: Option<PathBuf>) -> Result<Tls, StoreError> {
        let mut roots = RootCertStore::empty();
        match path {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                let failed = StoreError::at_file(&path);
                let unreadable = |error| failed(io::Error::other(error));
                for certificate in CertificateDer::pem_file_iter(&path).map_err(unreadable)? {
                    let certificate = certificate.map_err(unreadable)?;
                    roots
                        .add(certificate)
                        .map_err(|error| failed(io::Error::other(error)))?;
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Tls(Arc::new(config)))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Connect> {
        Ok(Connect {
            config: Arc::clone(&self.0),
            name: host.to_owned(),
        })
    }
}

/// A TLS connection that is to be made.
pub(super) struct Connect {
    config: Arc<ClientConfig>,
    name: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.name).map_err(io::Error::other)?;
            let connector = TlsConnector::from(self.config);
            connector.connect(name, stream).await.map(Stream)
        })
    }
}

/// A TLS connection.
pub(super) struct Stream<S>(TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_roots_that_cannot_be_read_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("roots.pem");
        let missing = Tls::with_roots(Some(path.clone())).err();
        assert!(matches!(missing, Some(StoreError::File(named, _)) if named == path));
        let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(&path, text).expect("writes");
        assert!(Tls::with_roots(Some(path)).is_err(), "no certificate");
        assert!(Tls::with_roots(None).is_ok(), "the public roots");
    }
}
