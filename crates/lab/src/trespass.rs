//! Refused addresses ([`BLACK_LIST`]), to which a crawler must not connect, and a record of the connections to them.
//!
//! The lab is on loopback, so its crawlers must set the option `allow_private`. With this option, their address guard
//! allows most private addresses. So they also need this black list. Servers of the lab listen on some refused
//! addresses, where they record and close every connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Instant;

/// A connection to a refused address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trespass {
    /// The address.
    pub address: IpAddr,
    /// When the connection was accepted.
    pub at: Instant,
}

/// The address ranges that a crawler of hostile sites must refuse, as lines of its black list. The lab records
/// connections to the first three ranges ([`crate::Lab::trespasses`]). `Hazard::Metadata` links to addresses in the
/// other ranges, most of which are outside this machine.
pub const BLACK_LIST: &[&str] = &[
    "127.166.0.0/16",
    "127.0.0.1/32",
    "::1/128",
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "fc00::/7",
    "fe80::/10",
    "::/128",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2002::/16",
    "2001::/32",
];

/// Second octet of the refused range 127.166.0.0/16. The sites of the lab have addresses below 127.144.0.0.
const SECOND_OCTET: u8 = 166;
/// Number of addresses in this range on which servers listen.
const LISTENING: u8 = 8;

/// The refused address 127.166.0.`number`. Servers listen on the numbers 1 to 8.
pub(crate) const fn refused(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, SECOND_OCTET, 0, number)
}

/// The refused addresses on which servers listen. 127.0.0.1 is one of them, because URLs with the host `0` lead to it.
pub(crate) fn listening_addresses() -> Vec<Ipv4Addr> {
    let range = (1..=LISTENING).map(refused);
    range.chain([Ipv4Addr::LOCALHOST]).collect()
}

/// Whether a connection to this address is counted as a trespass.
pub(crate) fn is_refused(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address == Ipv4Addr::LOCALHOST || address.octets()[..2] == [127, SECOND_OCTET]
        }
        IpAddr::V6(address) => address == Ipv6Addr::LOCALHOST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site;

    #[test]
    fn the_black_list_covers_refused_addresses_and_no_sites() {
        let list = aranha_url::Blacklist::parse_lines(&BLACK_LIST.join("\n"))
            .expect("the lines are valid ranges");
        for number in [1, 8, 200] {
            assert!(list.address(refused(number).into()).is_some());
        }
        assert!(list.address(Ipv6Addr::LOCALHOST.into()).is_some());
        assert!((0..1000).all(|number| list.address(site::address(number).into()).is_none()));
    }

    #[test]
    fn no_site_has_a_refused_address() {
        assert!((0..200_000).all(|number| !is_refused(site::address(number).into())));
        assert!(
            listening_addresses()
                .into_iter()
                .all(|a| is_refused(a.into()))
        );
        assert!(is_refused(refused(1).to_ipv6_mapped().into()));
    }
}
