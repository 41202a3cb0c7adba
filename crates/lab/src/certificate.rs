//! TLS for the hazards that misbehave there: certificates of a few faults, made when the lab starts.
//!
//! The servers are in `secure`. The lab's authority signs what is not self-signed: who trusts it ([`crate::Lab::authority`]) sees one fault each.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::hazard::Hazard;
use crate::plan::Plan;

/// What the TLS servers show.
pub(crate) struct Certificates {
    acceptors: HashMap<Hazard, TlsAcceptor>,
    /// DER of the authority's certificate.
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
    /// For the hazards of a plan; `None` when none of them speaks TLS.
    pub(crate) fn new(plan: &Plan) -> io::Result<Option<Certificates>> {
        if !plan.hazards.iter().any(|hazard| hazard.is_secure()) {
            return Ok(None);
        }
        make(plan).map(Some).map_err(io::Error::other)
    }

    pub(crate) fn acceptor(&self, hazard: Hazard) -> Option<&TlsAcceptor> {
        self.acceptors.get(&hazard)
    }
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

fn make(plan: &Plan) -> Result<Certificates, Fault> {
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
    Ok(Certificates {
        acceptors,
        authority: authority.der().to_vec(),
    })
}

fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair) -> Result<TlsAcceptor, Fault> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
