//! Links and redirects to private networks and to the metadata services of hosting companies.
//!
//! Server-side request forgery: 169.254.169.254 and similar addresses, RFC 1918, RFC 6598, RFC 4193, and IPv6 addresses
//! that embed an IPv4 address (mapped by RFC 4291, NAT64 by RFC 6052, 6to4 by RFC 3056, Teredo by RFC 4380). These
//! addresses are outside the lab, so the lab cannot count connections to them. A plan may include this hazard only if
//! the crawler refuses all these addresses ([`crate::BLACK_LIST`]).

use std::io;

use super::HazardRequest;

const ADDRESSES: [&str; 19] = [
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.169.254./latest/",
    "http://2852039166/latest/",
    "http://[::ffff:169.254.169.254]/latest/",
    "http://[fd00:ec2::254]/latest/",
    "http://10.0.0.1/",
    "http://012.0.0.1/",
    "http://167772161/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://[::ffff:10.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:a00:1::]/",
    "http://[2001:0:a00:1::f5ff:fffe]/",
    "http://[fe80::1]/",
    "http://[::]/",
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    request
        .link_and_redirect_to("Metadata", 307, &ADDRESSES)
        .await
}
