//! TLS certificates. The certificate of a hazard has one fault, and is made when the lab starts. The certificate of an
//! honest site is valid, and is made at the first connection to the site.
//!
//! The lab's root certificate ([`crate::Lab::authority`]) signs all certificates except the self-signed one.
//! `secure.rs` serves the TLS connections.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use tokio_rustls::TlsAcceptor;

use crate::hazard::Hazard;
use crate::site::SchemeSupport;
use crate::web::{Host, Web};

/// The certificates of the TLS servers.
pub(crate) struct Certificates {
    acceptors: HashMap<Hazard, TlsAcceptor>,
    /// Accepts TLS connections to all honest sites.
    pub(crate) honest: TlsAcceptor,
    /// Root certificate in DER.
    pub(crate) authority: Vec<u8>,
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Certificates")
            .finish_non_exhaustive()
    }
}

impl Certificates {
    /// The certificates of a plan. `None` if no site of the plan uses TLS.
    pub(crate) fn new(web: &Web) -> io::Result<Option<Certificates>> {
        let plan = web.plan();
        if plan.secure == 0 && !plan.hazards.iter().any(|hazard| hazard.is_secure()) {
            return Ok(None);
        }
        make(web).map(Some).map_err(io::Error::other)
    }

    pub(crate) fn acceptor(&self, hazard: Hazard) -> Option<&TlsAcceptor> {
        self.acceptors.get(&hazard)
    }
}

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

fn make(web: &Web) -> Result<Certificates, BoxedError> {
    let plan = web.plan();
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    let name = &mut params.distinguished_name;
    name.push(DnType::CommonName, "authority of the lab");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key)?;
    let issuer = Issuer::new(params, key);
    let mut acceptors = HashMap::new();
    for hazard in [Hazard::Expired, Hazard::SelfSigned, Hazard::OtherName] {
        let copies = plan.hazards.iter().filter(|h| **h == hazard).count();
        let mut names: Vec<String> = (1..=copies).map(|copy| hazard.host_of(copy)).collect();
        if hazard == Hazard::OtherName {
            names = vec!["somebody-else.lab".to_owned()];
        }
        let mut params = CertificateParams::new(names)?;
        if hazard == Hazard::Expired {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate()?;
        let certificate = if hazard == Hazard::SelfSigned {
            params.self_signed(&key)?
        } else {
            params.signed_by(&key, &issuer)?
        };
        acceptors.insert(hazard, acceptor(certificate.der().clone(), &key)?);
    }
    let names = IssuedOnDemand::new(web.clone(), issuer)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(names));
    Ok(Certificates {
        acceptors,
        honest: TlsAcceptor::from(Arc::new(config)),
        authority: authority.der().to_vec(),
    })
}

fn acceptor(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
) -> Result<TlsAcceptor, BoxedError> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Issues a certificate for the server name in the `ClientHello` if it is the name of an honest site with HTTPS.
struct IssuedOnDemand {
    web: Web,
    issuer: Issuer<'static, KeyPair>,
    /// The key pair that all issued certificates share.
    key: KeyPair,
    signing: Arc<dyn SigningKey>,
    issued: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl std::fmt::Debug for IssuedOnDemand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("IssuedOnDemand")
            .finish_non_exhaustive()
    }
}

impl IssuedOnDemand {
    fn new(web: Web, issuer: Issuer<'static, KeyPair>) -> Result<IssuedOnDemand, BoxedError> {
        let key = KeyPair::generate()?;
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(IssuedOnDemand {
            web,
            issuer,
            signing: ring::sign::any_supported_type(&private)?,
            key,
            issued: Mutex::default(),
        })
    }

    fn issue(&self, name: &str) -> Result<Arc<CertifiedKey>, BoxedError> {
        let params = CertificateParams::new(vec![name.to_owned()])?;
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let chain = vec![certificate.der().clone()];
        Ok(Arc::new(CertifiedKey::new(
            chain,
            Arc::clone(&self.signing),
        )))
    }
}

impl ResolvesServerCert for IssuedOnDemand {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?;
        let (Host::Site(site) | Host::Twin(site)) = self.web.host(name)? else {
            return None;
        };
        if site.scheme == SchemeSupport::Plain {
            return None;
        }
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = issued.get(name) {
            return Some(Arc::clone(known));
        }
        let new = self.issue(name).ok()?;
        issued.insert(name.to_owned(), Arc::clone(&new));
        Some(new)
    }
}
