//! A host name with IPv6 addresses only. Each address is refused (`trespass.rs`), or contains a refused IPv4 address.
//!
//! The addresses are IPv4-mapped, IPv4-compatible (both RFC 4291, 2.5.5), NAT64 (RFC 6052), 6to4 (RFC 3056), loopback,
//! link-local and unique local. A guard that checks only IPv4 addresses would accept them. `trespass.rs` counts
//! connections to the IPv4-mapped address and to `::1`. No server of the lab listens at the other addresses.

use std::net::Ipv6Addr;

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::{AAAA, Record};
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    if lookup.question.kind != AAAA {
        return DnsResponse::Records(Vec::new());
    }
    let address = refused(5);
    let [a, b, c, d] = address.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let addresses = [
        address.to_ipv6_mapped(),
        Ipv6Addr::LOCALHOST,
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    ];
    let records = addresses.map(|address| Record::aaaa(address, lookup.ttl));
    DnsResponse::Records(records.to_vec())
}
