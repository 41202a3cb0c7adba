//! The address of a store: `s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME]`.

use std::fmt;

use url::Url;

/// A parsed address. Its text form names the same store on every machine, so it includes the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreAddress {
    pub(crate) bucket: String,
    /// Without slashes at its ends; empty if the volumes are at the top of the bucket.
    pub(crate) prefix: String,
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
}

impl StoreAddress {
    /// Parses an address. The error is a description of the problem.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        let bucket = url.host_str().unwrap_or_default();
        if url.scheme() != "s3" || bucket.is_empty() {
            return Err("it does not have the form s3://BUCKET/PREFIX".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "keys do not belong into the address; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                    .to_owned(),
            );
        }
        let prefix = url.path().trim_matches('/');
        let is_plain = |part: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
            !matches!(part, "" | "." | "..") && part.chars().all(plain)
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_plain) {
            return Err(
                "the prefix may have letters, digits, `-`, `_`, `.`, `=` and `/` only".to_owned(),
            );
        }
        let mut address = Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: None,
            region: None,
        };
        for (name, value) in url.query_pairs() {
            match &*name {
                "endpoint" => address.endpoint = Some(value.into_owned()),
                "region" => address.region = Some(value.into_owned()),
                other => {
                    return Err(format!(
                        "`{other}` is unknown; use `endpoint` and `region` only"
                    ));
                }
            }
        }
        if let Some(endpoint) = &address.endpoint {
            let parsed = Url::parse(endpoint).map_err(|error| format!("the endpoint: {error}"))?;
            if !matches!(parsed.scheme(), "http" | "https") {
                return Err("the endpoint is not an http or https URL".to_owned());
            }
        }
        Ok(address)
    }

    /// The key of an object.
    pub(crate) fn key(&self, name: &str) -> String {
        match &*self.prefix {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        }
    }

    /// The address without endpoint and region, for messages.
    pub(crate) fn short(&self) -> String {
        format!("s3://{}", [&*self.bucket, &self.prefix].join("/"))
            .trim_end_matches('/')
            .to_owned()
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = Url::parse(&self.short()).map_err(|_| fmt::Error)?;
        for (name, value) in [("endpoint", &self.endpoint), ("region", &self.region)] {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        out.write_str(url.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_written() {
        for text in [
            "s3://archive",
            "s3://archive/national/2026",
            "s3://a.b-c/p?endpoint=http%3A%2F%2F127.0.0.1%3A9000&region=eu-west-1",
        ] {
            let address = StoreAddress::parse(text).unwrap();
            assert_eq!(address.to_string(), text);
        }
        let address = StoreAddress::parse("s3://b/p/?endpoint=http://localhost:9000").unwrap();
        assert_eq!(address.endpoint.as_deref(), Some("http://localhost:9000"));
        assert_eq!(address.key("x.warc.gz"), "p/x.warc.gz");
        assert_eq!(address.short(), "s3://b/p");
        assert_eq!(StoreAddress::parse("s3://b").unwrap().key("x"), "x");
    }

    #[test]
    fn unusable_addresses_are_described() {
        for (text, expected) in [
            ("archive", "relative URL"),
            ("http://archive/x", "s3://BUCKET"),
            ("s3:///x", "s3://BUCKET"),
            ("s3://key:secret@archive/x", "AWS_ACCESS_KEY_ID"),
            ("s3://archive/a b", "prefix"),
            ("s3://archive/a//b", "prefix"),
            ("s3://archive?zone=1", "`zone` is unknown"),
            ("s3://archive?endpoint=x", "endpoint"),
            ("s3://archive?endpoint=ftp://x", "not an http"),
        ] {
            let problem = StoreAddress::parse(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
