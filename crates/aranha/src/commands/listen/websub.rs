//! The subscriber side of WebSub (W3C Recommendation, 23 January 2018). When a feed has changed, a hub sends it to the
//! subscribers.
//!
//! The user subscribes with a POST request to the hub (docs/commands.md). If the topic of the subscription was given
//! with `--topic`, this module confirms the subscription to the hub (section 5.3), and reads the feeds that the hub
//! sends (section 7). With `--secret`, a feed without a valid signature is ignored, but the hub gets the same response
//! as for a signed feed (section 8).

use std::fs;

use aranha_engine::{Signal, Source};
use aranha_page::{Input, LinkKind};
use aranha_url::Base;
use data_encoding::HEXLOWER_PERMISSIVE;
use ring::hmac;

use super::request::Request;
use super::{Response, in_scope};
use crate::error::CommandError;
use crate::live_scope::ScopeSnapshot;

/// The topics given with `--topic`, and the secret shared with their hubs.
pub(super) struct Subscription {
    topics: Vec<String>,
    secret: Option<Vec<u8>>,
}

impl Subscription {
    pub(super) fn new(topics: &[String], secret: Option<&str>) -> Result<Self, CommandError> {
        let secret = match secret.map(|text| (text, text.strip_prefix('@'))) {
            None => None,
            Some((text, None)) => Some(text.as_bytes().to_vec()),
            Some((_, Some(path))) => {
                let text = fs::read_to_string(path).map_err(|error| {
                    CommandError::usage(format!("cannot read the secret {path}: {error}"))
                })?;
                Some(text.trim_end().as_bytes().to_vec())
            }
        };
        Ok(Self {
            topics: topics.to_vec(),
            secret,
        })
    }

    /// Confirms or rejects a subscription.
    pub(super) fn verify(&self, request: &Request) -> Response {
        let parameter = |name: &str| request.parameter(name).unwrap_or_default();
        let (mode, topic) = (parameter("hub.mode"), parameter("hub.topic"));
        let remark = format!("{mode} {topic}");
        let known = self.topics.contains(&topic);
        match mode.as_str() {
            "subscribe" if known => Response {
                body: parameter("hub.challenge"),
                ..Response::new(200, remark)
            },
            "denied" if known => Response::new(200, remark),
            _ => Response::new(404, remark),
        }
    }

    /// Receives a feed.
    pub(super) fn receive(
        &self,
        request: &Request,
        snapshot: &ScopeSnapshot,
        now: i64,
    ) -> Response {
        let Some(topic) = self.topic(request) else {
            return Response::new(404, "the topic was not given with --topic");
        };
        if !self.is_signed(request) {
            return Response::new(202, format!("{topic}: the signature is missing or wrong"));
        }
        Response {
            signals: signals(topic, request, snapshot, now),
            ..Response::new(202, topic)
        }
    }

    /// The topic that a `rel=self` link of the request names. If the request has no such link and exactly one topic was
    /// given with `--topic`, the request is about that topic.
    fn topic(&self, request: &Request) -> Option<&str> {
        let mut links = request.headers("link").flat_map(self_links).peekable();
        if links.peek().is_none() && self.topics.len() == 1 {
            return self.topics.first().map(String::as_str);
        }
        let own = links.find_map(|link| self.topics.iter().find(|topic| *topic == link));
        own.map(String::as_str)
    }

    fn is_signed(&self, request: &Request) -> bool {
        let Some(secret) = &self.secret else {
            return true;
        };
        let header = request.header("x-hub-signature").unwrap_or_default();
        let Some((method, digest)) = header.split_once('=') else {
            return false;
        };
        let algorithm = match method.trim() {
            // Most hubs sign with SHA-1, which is still secure in an HMAC.
            "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            "sha256" => hmac::HMAC_SHA256,
            "sha384" => hmac::HMAC_SHA384,
            "sha512" => hmac::HMAC_SHA512,
            _ => return false,
        };
        let key = hmac::Key::new(algorithm, secret);
        HEXLOWER_PERMISSIVE
            .decode(digest.trim().as_bytes())
            .is_ok_and(|digest| hmac::verify(&key, &request.body, &digest).is_ok())
    }
}

/// The targets of the links with `rel=self` in a `Link` header (RFC 8288).
fn self_links(value: &str) -> impl Iterator<Item = &str> {
    value.split('<').skip(1).filter_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let own = parameters.split([';', ',']).any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            let mut words = value.trim().trim_matches('"').split(' ');
            name.trim().eq_ignore_ascii_case("rel")
                && words.any(|word| word.eq_ignore_ascii_case("self"))
        });
        own.then_some(target)
    })
}

/// Signals for the topic and for the entries of its feed that are in scope.
fn signals(topic: &str, request: &Request, snapshot: &ScopeSnapshot, now: i64) -> Vec<Signal> {
    let Ok(own) = snapshot.canon.canon(topic) else {
        return Vec::new();
    };
    let input = Input {
        url: topic,
        content_type: request.header("content-type"),
        body: &request.body,
        content_language: None,
    };
    let page = aranha_page::read(&input, &snapshot.config.page);
    let mut base = Base::of(&own);
    if let Some(href) = &page.base {
        base = base.with_href(href);
    }
    let signal = |url, at: i64| Signal {
        url,
        source: Source::WebSub,
        at: at.min(now),
    };
    let mut signals: Vec<_> = in_scope(snapshot, &own)
        .map(|url| signal(url, now))
        .into_iter()
        .collect();
    for (index, link) in page.links.iter().enumerate() {
        if link.kind != LinkKind::Feed {
            continue;
        }
        let dated = page
            .link_dates
            .binary_search_by_key(&index, |(link, _)| *link);
        let at = dated.map_or(now, |found| page.link_dates[found].1);
        let url = snapshot.canon.join(&base, &link.href).ok();
        let url = url.and_then(|url| in_scope(snapshot, &url));
        signals.extend(url.map(|url| signal(url, at)));
    }
    signals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_links_are_found() {
        let links = |value| self_links(value).collect::<Vec<_>>();
        let both = "<https://hub.example/>; rel=\"hub\", <https://a.example/feed>; rel=\"self\"";
        assert_eq!(links(both), ["https://a.example/feed"]);
        assert_eq!(links("<a>; title=x; rel=self"), ["a"]);
        assert_eq!(links("<a>; REL=\"alternate SELF\""), ["a"]);
        assert!(links("<a>; rel=selfish, <b>, c, <").is_empty());
    }
}
