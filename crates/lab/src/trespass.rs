//! Addresses that the lab's black list refuses, and the connections that came to them all the same.
//!
//! The lab is on loopback, so a crawler that visits it must be let in there (`allow_private`); what it must not
//! touch is named by [`BLACK_LIST`]. Of those ranges some can be listened on: a server there says nothing, notes
//! who came (invariant: no connection to a refused address) and hangs up. Nothing in the lab ever connects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Instant;

/// A connection to an address that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trespass {
    /// The address that was connected to.
    pub address: IpAddr,
    /// When it was accepted.
    pub at: Instant,
}

/// Ranges to refuse when the zoo is crawled, one a line in a crawler's black list. The first three are counted
/// (see [`crate::Lab::trespasses`]); the others are where `Hazard::Metadata` points to, outside this machine.
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

/// Second octet of the range that is listened on; honest and hostile sites stay below 144.
const NETWORK: u8 = 166;
/// Addresses bound one by one.
const BOUND: u8 = 8;

/// The n-th counted address: 1 to 8 are always listened on.
pub(crate) const fn refused(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, NETWORK, 0, number)
}

/// What to listen on besides the sites' addresses: 127.0.0.1 too, since `0` leads there.
pub(crate) fn listened() -> Vec<Ipv4Addr> {
    let range = (1..=BOUND).map(refused);
    range.chain([Ipv4Addr::LOCALHOST]).collect()
}

/// Nobody may connect to it.
pub(crate) fn is_refused(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address == Ipv4Addr::LOCALHOST || address.octets()[..2] == [127, NETWORK]
        }
        IpAddr::V6(address) => address == Ipv6Addr::LOCALHOST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site;

    #[test]
    fn the_black_list_is_one() {
        let list = aranha_url::Blacklist::parse_lines(&BLACK_LIST.join("\n")).expect("ranges");
        for number in [1, 8, 200] {
            assert!(list.address(refused(number).into()).is_some());
        }
        assert!(list.address(Ipv6Addr::LOCALHOST.into()).is_some());
        assert!((0..1000).all(|number| list.address(site::address(number).into()).is_none()));
    }

    #[test]
    fn sites_are_elsewhere() {
        assert!((0..200_000).all(|number| !is_refused(site::address(number).into())));
        assert!(listened().into_iter().all(|a| is_refused(a.into())));
        assert!(is_refused(refused(1).to_ipv6_mapped().into()));
    }
}
