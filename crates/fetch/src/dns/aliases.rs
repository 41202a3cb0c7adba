//! Follows a name's aliases to its addresses (CNAME; RFC 1034, 3.6.2).
//!
//! A recursive name server normally returns the whole chain of aliases in one answer. If an answer ends with an alias,
//! `name_servers.rs` queries that alias. The number of aliases is limited, because hostile chains can be circular or
//! endless. The limit applies to the aliases of all answers together, so it also limits the number of queries of a
//! look-up.

use std::net::IpAddr;

use hickory_resolver::proto::rr::{Name, RData, Record};

/// Maximum number of aliases, the same as in unbound and BIND (`max-query-restarts`).
const MAX_ALIASES: usize = 11;

/// The aliases that one look-up has followed so far.
pub(crate) struct AliasChain {
    /// The last name of the chain so far, which is the next to query.
    pub(crate) name: Name,
    aliases: usize,
    /// The smallest TTL of the records followed so far, in seconds.
    ttl: u32,
}

/// The result of following the records of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChainStep {
    /// The addresses, and the TTL of the chain in seconds.
    Addresses(Vec<IpAddr>, u32),
    /// The answer ends with an alias, which must be queried.
    Alias,
    /// The answer has neither an address nor an alias for the name, or the chain has too many aliases.
    NoAddress,
}

impl AliasChain {
    pub(crate) fn new(name: Name) -> AliasChain {
        AliasChain {
            name,
            aliases: 0,
            ttl: u32::MAX,
        }
    }

    /// Follows the aliases in an answer. Its records may have any order.
    pub(crate) fn follow(&mut self, records: &[Record]) -> ChainStep {
        let mut next = ChainStep::NoAddress;
        loop {
            let addresses = self.addresses(records);
            if !addresses.is_empty() {
                return ChainStep::Addresses(addresses, self.ttl);
            }
            let Some((alias, ttl)) = self.alias(records) else {
                return next;
            };
            if self.aliases >= MAX_ALIASES {
                return ChainStep::NoAddress;
            }
            self.aliases += 1;
            self.ttl = self.ttl.min(ttl);
            self.name = alias;
            next = ChainStep::Alias;
        }
    }

    /// The addresses of the current name; records of other names are ignored.
    fn addresses(&mut self, records: &[Record]) -> Vec<IpAddr> {
        let mut addresses = Vec::new();
        for record in records.iter().filter(|record| record.name == self.name) {
            addresses.push(match record.data {
                RData::A(address) => IpAddr::V4(address.0),
                RData::AAAA(address) => IpAddr::V6(address.0),
                _ => continue,
            });
            self.ttl = self.ttl.min(record.ttl);
        }
        addresses
    }

    fn alias(&self, records: &[Record]) -> Option<(Name, u32)> {
        records.iter().find_map(|record| match &record.data {
            RData::CNAME(alias) if record.name == self.name => Some((alias.0.clone(), record.ttl)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use hickory_resolver::proto::rr::rdata::{A, CNAME};

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    /// `a>b` is an alias and `a=7` the address 192.0.2.7. The n-th record has a TTL of n minutes.
    fn records(text: &str) -> Vec<Record> {
        let record = |(index, text): (usize, &str)| {
            let (owner, data) = text.split_at(1);
            let data = match data.split_at(1) {
                (">", alias) => RData::CNAME(CNAME(name(alias))),
                (_, last) => RData::A(A::new(192, 0, 2, last.parse().unwrap())),
            };
            Record::from_rdata(name(owner), 60 * (index as u32 + 1), data)
        };
        text.split_whitespace().enumerate().map(record).collect()
    }

    /// Follows several answers one after the other, starting from the name `a`, and checks the last step.
    fn check(answers: &[&str], expected: &str) {
        let mut chain = AliasChain::new(name("a"));
        let followed = answers.iter().map(|text| chain.follow(&records(text)));
        let found = match followed.last().expect("there is an answer") {
            ChainStep::Addresses(addresses, ttl) => {
                let last = addresses.iter().map(|address| match address {
                    IpAddr::V4(address) => address.octets()[3].to_string(),
                    IpAddr::V6(_) => unreachable!("the records have IPv4 addresses only"),
                });
                format!("{} for {ttl} s", last.collect::<Vec<_>>().join(" "))
            }
            ChainStep::Alias => format!("query {}", chain.name),
            ChainStep::NoAddress => "no address".to_owned(),
        };
        assert_eq!(found, expected, "{answers:?}");
    }

    #[test]
    fn aliases_are_followed_to_addresses() {
        check(&["a=1 a=2"], "1 2 for 60 s");
        check(&["A=1"], "1 for 60 s");
        check(&["a>b b>c c=1"], "1 for 60 s");
        check(&["c=1 b>c a>b"], "1 for 60 s");
        check(&["a>b", "b>c c=1"], "1 for 60 s");
        check(&["x=7 a>b x=8 b=9"], "9 for 120 s");
        check(&["a>b b>c"], "query c");
        check(&[""], "no address");
        check(&["b=1"], "no address");
        check(&["a>b", "a=1"], "no address");
    }

    #[test]
    fn long_and_circular_chains_are_abandoned() {
        let letters = ('a'..='z').zip('b'..='z');
        let steps: Vec<String> = letters.map(|(from, to)| format!("{from}>{to}")).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        check(&[&format!("{} l=1", steps[..11].join(" "))], "1 for 60 s");
        check(&[&format!("{} m=1", steps[..12].join(" "))], "no address");
        check(&steps[..11], "query l");
        check(&steps[..12], "no address");
        check(&["a>b b>a"], "no address");
        check(&["a>a"], "no address");
    }
}
