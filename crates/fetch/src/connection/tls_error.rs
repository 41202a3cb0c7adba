//! Describes TLS errors to the user. The messages of rustls are mostly the identifiers of its variants.

use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// Describes a failed handshake to the user, as a part of a sentence.
pub(super) fn handshake_error(error: &io::Error) -> String {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    match (tls, error.kind()) {
        (Some(error), _) => tls_error(error),
        (None, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            "the server closed the connection during the handshake".to_owned()
        }
        (None, _) => error.to_string(),
    }
}

/// Describes an error of rustls to the user, as a part of a sentence.
pub(super) fn tls_error(error: &Error) -> String {
    let clause = match error {
        Error::InvalidMessage(_) | Error::PeerSentOversizedRecord => {
            "the server does not speak TLS on this port; perhaps the URL begins with http://"
        }
        Error::InvalidCertificate(error) => return certificate_error(error),
        Error::NoCertificatesPresented => "the server sent no certificate",
        Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13)
        | Error::AlertReceived(AlertDescription::ProtocolVersion) => {
            "the server supports neither TLS 1.2 nor TLS 1.3"
        }
        Error::PeerIncompatible(_)
        | Error::AlertReceived(
            AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity,
        ) => "the server and aranha have no cipher suite in common",
        Error::AlertReceived(AlertDescription::UnrecognisedName) => {
            "the server does not know the host name"
        }
        Error::AlertReceived(
            AlertDescription::CertificateRequired | AlertDescription::AccessDenied,
        ) => "the server requires a client certificate",
        Error::AlertReceived(AlertDescription::NoApplicationProtocol)
        | Error::NoApplicationProtocol => "the server does not offer HTTP/1.1",
        Error::AlertReceived(AlertDescription::InternalError) => {
            "the server reported an internal error during the handshake"
        }
        Error::PeerMisbehaved(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::DecryptError => "the server violated the TLS protocol",
        other => return other.to_string(),
    };
    clause.to_owned()
}

fn certificate_error(error: &CertificateError) -> String {
    let clause = match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the certificate is for another host name"
        }
        CertificateError::UnknownIssuer => {
            "the certificate is self-signed, or its issuer is not trusted"
        }
        CertificateError::Revoked => "the certificate has been revoked",
        CertificateError::BadSignature => "the signature of the certificate is wrong",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the certificate is not for web servers"
        }
        CertificateError::BadEncoding => "the certificate is malformed",
        // webpki reports this error for a self-signed certificate that is marked as a certificate authority.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "the certificate is self-signed, or its issuer is not trusted"
        }
        other => return format!("the certificate is invalid: {other}"),
    };
    clause.to_owned()
}

#[cfg(test)]
mod tests {
    use rustls::InvalidMessage;

    use super::*;

    #[test]
    fn errors_are_told_in_words() {
        let check = |error: Error, words: &str| {
            let told = handshake_error(&io::Error::new(ErrorKind::InvalidData, error));
            assert!(told.contains(words), "{told}");
        };
        check(
            InvalidMessage::InvalidContentType.into(),
            "does not speak TLS on this port",
        );
        check(CertificateError::Expired.into(), "has expired");
        check(
            CertificateError::NotValidForName.into(),
            "another host name",
        );
        check(
            PeerIncompatible::NoCipherSuitesInCommon.into(),
            "no cipher suite",
        );
        check(
            Error::AlertReceived(AlertDescription::ProtocolVersion),
            "neither TLS 1.2 nor",
        );
        let closed = io::Error::from(ErrorKind::UnexpectedEof);
        assert!(handshake_error(&closed).contains("closed the connection"));
    }
}
