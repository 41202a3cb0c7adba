//! From a name over its aliases to its addresses (CNAME, RFC 1034 3.6.2).
//!
//! A recursive server gives the whole chain in one answer; where one stops half-way, the last name is asked for
//! (`servers.rs`). Chains in rings and without end are the reason for the limit, which counts aliases whether they came
//! in one answer or in many, so that it bounds the questions of a look-up, too.

use std::net::IpAddr;

use hickory_resolver::proto::rr::{Name, RData, Record};

/// As far as unbound and BIND follow, too (`max-query-restarts`): behind them, a longer chain is an error anyway.
const MOST_ALIASES: usize = 11;

/// A look-up on its way.
pub(super) struct Chain {
    /// Where it has come to, which is to be asked for.
    pub(super) name: Name,
    aliases: usize,
    /// Seconds for which all that was read so far holds.
    ttl: u32,
}

/// What an answer leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The end, and for how many seconds it holds.
    Addresses(Vec<IpAddr>, u32),
    /// An alias of which this answer says no more.
    Alias,
    /// No address and no alias, or one alias too many.
    Nothing,
}

impl Chain {
    pub(super) fn new(name: Name) -> Chain {
        Chain {
            name,
            aliases: 0,
            ttl: u32::MAX,
        }
    }

    /// Goes along the records of an answer, in whatever order they are.
    pub(super) fn follow(&mut self, records: &[Record]) -> Next {
        let mut next = Next::Nothing;
        loop {
            let addresses = self.addresses(records);
            if !addresses.is_empty() {
                return Next::Addresses(addresses, self.ttl);
            }
            let Some((alias, ttl)) = self.alias(records) else {
                return next;
            };
            if self.aliases >= MOST_ALIASES {
                return Next::Nothing;
            }
            self.aliases += 1;
            self.ttl = self.ttl.min(ttl);
            self.name = alias;
            next = Next::Alias;
        }
    }

    /// Of this name, not of any that happens to be in the answer.
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

    /// `a>b` is an alias, `a=7` the address 192.0.2.7; the record's place is its life in minutes.
    fn records(text: &str) -> Vec<Record> {
        let record = |(place, text): (usize, &str)| {
            let (owner, data) = text.split_at(1);
            let data = match data.split_at(1) {
                (">", alias) => RData::CNAME(CNAME(name(alias))),
                (_, last) => RData::A(A::new(192, 0, 2, last.parse().unwrap())),
            };
            Record::from_rdata(name(owner), 60 * (place as u32 + 1), data)
        };
        text.split_whitespace().enumerate().map(record).collect()
    }

    /// The answers that are given one after the other, from `a`, and what the last leads to.
    fn check(answers: &[&str], expected: &str) {
        let mut chain = Chain::new(name("a"));
        let followed = answers.iter().map(|text| chain.follow(&records(text)));
        let found = match followed.last().expect("an answer") {
            Next::Addresses(addresses, ttl) => {
                let last = addresses.iter().map(|address| match address {
                    IpAddr::V4(address) => address.octets()[3].to_string(),
                    IpAddr::V6(_) => unreachable!("none is given"),
                });
                format!("{} for {ttl} s", last.collect::<Vec<_>>().join(" "))
            }
            Next::Alias => format!("ask for {}", chain.name),
            Next::Nothing => "nothing".to_owned(),
        };
        assert_eq!(found, expected, "{answers:?}");
    }

    #[test]
    fn answers_are_followed() {
        check(&["a=1 a=2"], "1 2 for 60 s");
        check(&["A=1"], "1 for 60 s");
        check(&["a>b b>c c=1"], "1 for 60 s");
        check(&["c=1 b>c a>b"], "1 for 60 s");
        check(&["a>b", "b>c c=1"], "1 for 60 s");
        check(&["x=7 a>b x=8 b=9"], "9 for 120 s");
        check(&["a>b b>c"], "ask for c");
        check(&[""], "nothing");
        check(&["b=1"], "nothing");
        check(&["a>b", "a=1"], "nothing");
    }

    #[test]
    fn chains_have_an_end() {
        let letters = ('a'..='z').zip('b'..='z');
        let steps: Vec<String> = letters.map(|(from, to)| format!("{from}>{to}")).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        check(&[&format!("{} l=1", steps[..11].join(" "))], "1 for 60 s");
        check(&[&format!("{} m=1", steps[..12].join(" "))], "nothing");
        check(&steps[..11], "ask for l");
        check(&steps[..12], "nothing");
        check(&["a>b b>a"], "nothing");
        check(&["a>a"], "nothing");
    }
}
