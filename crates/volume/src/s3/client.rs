//! Requests to one store. A request that fails for a reason that may pass is repeated a few times.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use md5::{Digest as _, Md5};
use rusty_s3::actions::{ListObjectsV2, S3Action};
use rusty_s3::{Bucket, Credentials, UrlStyle};
use url::Url;

use crate::s3::address::StoreAddress;
use crate::s3::credentials::Environment;

/// How long a signed URL is valid. The URL needs to be valid only when the request starts.
const SIGNED_FOR: Duration = Duration::from_mins(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for one request with its body. A part of 8 MiB takes that long at 28 KB/s.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(5);
/// Maximum time without progress. Some stores need long to put the parts of an upload together.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Delays before the first and the second repetition of a request.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// Time after a failure in which readers that can do without the store send no requests to it.
const AWAY_FOR: Duration = Duration::from_secs(30);
/// Maximum length of a list or an error message.
const MAX_TEXT: u64 = 8 << 20;

/// A request to a store failed.
#[derive(Debug, Clone)]
pub(crate) struct StoreError {
    /// The address of the store, without endpoint.
    pub(crate) store: String,
    pub(crate) problem: String,
    /// HTTP status of the answer.
    pub(crate) status: Option<u16>,
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.store, self.problem)
    }
}

impl std::error::Error for StoreError {}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        io::Error::other(error)
    }
}

impl StoreError {
    /// Whether the same request may succeed later.
    pub(crate) fn may_pass(&self) -> bool {
        self.status
            .is_none_or(|status| status >= 500 || status == 429 || status == 408)
    }
}

/// Whether an error means that a volume could not be read, not that its content is damaged.
pub(crate) fn is_read_error(error: &io::Error) -> bool {
    let of_store = error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<StoreError>);
    error.raw_os_error().is_some() || of_store
}

/// One store.
pub(crate) struct S3Store {
    address: StoreAddress,
    bucket: Bucket,
    credentials: Option<Credentials>,
    agent: ureq::Agent,
    failed: Mutex<Option<Instant>>,
}

impl fmt::Debug for S3Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "S3Store({})", self.address)
    }
}

/// An answer whose body was not read yet.
pub(crate) type Answer = ureq::http::Response<ureq::Body>;

/// The stores that this process has opened, by address.
static OPENED: Mutex<BTreeMap<String, Arc<S3Store>>> = Mutex::new(BTreeMap::new());

impl S3Store {
    /// The store with this address. Nothing is requested from it yet.
    pub(crate) fn open(text: &str) -> Result<Arc<Self>, StoreError> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = opened.get(text) {
            return Ok(store.clone());
        }
        let store = Arc::new(Self::new(text).map_err(|problem| StoreError {
            store: text.to_owned(),
            problem,
            status: Some(400),
        })?);
        opened.insert(text.to_owned(), store.clone());
        Ok(store)
    }

    fn new(text: &str) -> Result<Self, String> {
        let mut address = StoreAddress::parse(text)?;
        let environment = Environment::read();
        // The environment has precedence, because a store may have moved since its address was recorded.
        address.endpoint = environment.endpoint.or(address.endpoint);
        address.region = environment.region.or(address.region);
        let region = address.region.as_deref().unwrap_or("us-east-1").to_owned();
        let (endpoint, style) = match &address.endpoint {
            Some(endpoint) => (endpoint.clone(), UrlStyle::Path),
            None => (
                format!("https://s3.{region}.amazonaws.com"),
                if address.bucket.contains('.') {
                    UrlStyle::Path
                } else {
                    UrlStyle::VirtualHost
                },
            ),
        };
        let endpoint = Url::parse(&endpoint).map_err(|error| format!("the endpoint: {error}"))?;
        let bucket = Bucket::new(endpoint, style, address.bucket.clone(), region)
            .map_err(|error| error.to_string())?;
        let agent = ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(REQUEST_TIMEOUT))
            .timeout_per_read(Some(IDLE_TIMEOUT))
            .timeout_per_write(Some(IDLE_TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("aranha/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        Ok(Self {
            address,
            bucket,
            credentials: environment.credentials,
            agent,
            failed: Mutex::new(None),
        })
    }

    /// The address with the endpoint and the region that are in use.
    pub(crate) fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// Whether a request failed in the last seconds because the store was away.
    pub(crate) fn is_away(&self) -> bool {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|at| at.elapsed() < AWAY_FOR)
    }

    fn set_failed(&self, failed: bool) {
        let mut at = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        *at = failed.then(Instant::now);
    }

    pub(crate) fn error(&self, problem: impl Into<String>, status: Option<u16>) -> StoreError {
        StoreError {
            store: self.address.short(),
            problem: problem.into(),
            status,
        }
    }

    pub(super) fn bucket(&self) -> (&Bucket, Option<&Credentials>) {
        (&self.bucket, self.credentials.as_ref())
    }

    /// Sends a request until it succeeds, fails for good, or was repeated often enough. The `headers` are sent but not
    /// signed, so their names must not begin with `x-amz-`.
    pub(super) fn send<'a>(
        &self,
        action: &impl S3Action<'a>,
        method: &'static str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, StoreError> {
        let mut delays = RETRY_DELAYS.iter();
        loop {
            let result = self.send_once(action, method, headers, body);
            match result {
                Ok(answer) => {
                    self.set_failed(false);
                    return Ok(answer);
                }
                Err(error) if error.may_pass() => {
                    let Some(delay) = delays.next() else {
                        self.set_failed(true);
                        return Err(error);
                    };
                    std::thread::sleep(*delay);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn send_once<'a>(
        &self,
        action: &impl S3Action<'a>,
        method: &'static str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, StoreError> {
        let url = action.sign(SIGNED_FOR);
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(url.as_str());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let without_body = matches!(method, "GET" | "HEAD");
        let answer = if without_body {
            let request = request.body(()).map_err(|error| error.to_string());
            request.and_then(|request| self.agent.run(request).map_err(|error| plain(&error)))
        } else {
            let request = request.body(body).map_err(|error| error.to_string());
            request.and_then(|request| self.agent.run(request).map_err(|error| plain(&error)))
        };
        let mut answer = answer.map_err(|problem| self.error(problem, None))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = read_text(&mut answer).unwrap_or_default();
        let problem = match (element(&text, "Code"), element(&text, "Message")) {
            (Some(code), Some(message)) => format!("status {status}, {code}: {message}"),
            (Some(code), None) => format!("status {status}, {code}"),
            _ => format!("status {status}"),
        };
        Err(self.error(problem, Some(status.as_u16())))
    }

    /// The length of an object; `None` if it does not exist.
    pub(crate) fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let key = self.address.key(name);
        let (bucket, credentials) = self.bucket();
        let action = bucket.head_object(credentials, &key);
        match self.send(&action, "HEAD", &[], &[]) {
            Ok(answer) => {
                match header(&answer, "content-length").and_then(|text| text.parse().ok()) {
                    Some(length) => Ok(Some(length)),
                    None => Err(self.error("the answer has no Content-Length", None)),
                }
            }
            Err(error) if error.status == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The names and lengths of all objects below the prefix.
    pub(crate) fn list(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let (bucket, credentials) = self.bucket();
        let prefix = self.address.key("");
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let mut action = bucket.list_objects_v2(credentials);
            action.with_prefix(&*prefix);
            action.with_delimiter("/");
            if let Some(token) = &token {
                action.with_continuation_token(&**token);
            }
            let mut answer = self.send(&action, "GET", &[], &[])?;
            let text = read_text(&mut answer)
                .map_err(|error| self.error(format!("the list of objects: {error}"), None))?;
            let page = ListObjectsV2::parse_response(&text)
                .map_err(|error| self.error(format!("the list of objects: {error}"), None))?;
            for object in page.contents {
                if let (Some(name), Some(size)) = (object.key.strip_prefix(&prefix), object.size) {
                    found.push((name.to_owned(), size));
                }
            }
            token = page.next_continuation_token;
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    /// Requests the bytes from `start` on, up to `end` (exclusive).
    pub(super) fn get(
        &self,
        name: &str,
        start: u64,
        end: Option<u64>,
    ) -> Result<Answer, StoreError> {
        let key = self.address.key(name);
        let (bucket, credentials) = self.bucket();
        let action = bucket.get_object(credentials, &key);
        let range = match end {
            Some(end) => format!("bytes={start}-{}", end.saturating_sub(1)),
            None => format!("bytes={start}-"),
        };
        let answer = self.send(&action, "GET", &[("range", &range)], &[])?;
        if answer.status().as_u16() != 206 && start > 0 {
            return Err(self.error("the store does not support ranges", Some(400)));
        }
        Ok(answer)
    }
}

/// The problem without the URL of the request, which has a signature.
fn plain(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::HostNotFound => "the host of the endpoint was not found".to_owned(),
        ureq::Error::ConnectionFailed => "the endpoint cannot be reached".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn read_text(answer: &mut Answer) -> io::Result<String> {
    let mut text = String::new();
    let body = answer.body_mut().as_reader();
    body.take(MAX_TEXT).read_to_string(&mut text)?;
    Ok(text)
}

pub(super) fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// The text of the first XML element with this name.
pub(super) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let start = xml.find(&format!("<{name}>"))? + name.len() + 2;
    let end = xml[start..].find('<')?;
    Some(&xml[start..start + end])
}

pub(super) fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}
