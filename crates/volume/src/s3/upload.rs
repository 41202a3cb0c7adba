//! Puts a file into a store. A large file is sent in parts, several at the same time. After a crash, parts that the
//! store already has are not sent again.
//!
//! Every part is sent with its MD5 (`Content-MD5`), which the store compares with what it has received. In addition,
//! the `ETag` in the answer must be that MD5, unless the store reports that it encrypts objects with its own key. At
//! the end, the store must report the length of the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use data_encoding::{BASE64, HEXLOWER};
use rusty_s3::actions::{CompleteMultipartUploadResponse, CreateMultipartUpload};

use crate::s3::client::{self, Answer, S3Store, StoreError, element};

/// Files up to this length are sent in one request. Longer files are sent in parts of at least this length (S3 requires
/// at least 5 MiB).
const PART_SIZE: u64 = 8 << 20;
/// S3 allows 10,000 parts.
const MAX_PARTS: u64 = 9000;
/// Number of parts that are sent at the same time.
const CONNECTIONS: usize = 4;

/// Why an upload did not succeed.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// The file could not be read.
    File(io::Error),
    Store(StoreError),
    /// The upload was asked to stop. It can be resumed.
    Stopped,
}

impl From<StoreError> for UploadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// An upload in parts that an earlier process has begun.
pub(crate) struct Resumed<'a> {
    pub(crate) upload: &'a str,
    pub(crate) part_size: u64,
}

/// An upload in parts.
struct MultipartUpload {
    upload: String,
    part_size: u64,
    /// The `ETag` values of the parts that the store has, by number of the part.
    etags: BTreeMap<u64, String>,
}

/// Observes and controls an upload.
pub(crate) struct UploadControl<'a> {
    /// Set to stop after the parts that are being sent.
    pub(crate) stop: &'a AtomicBool,
    /// Number of bytes sent.
    pub(crate) sent: &'a AtomicU64,
    /// Records the identifier of a new upload and its part size.
    pub(crate) begun: &'a mut dyn FnMut(&str, u64) -> io::Result<()>,
}

impl S3Store {
    /// Puts a file under this name, and returns when the store has confirmed it.
    pub(crate) fn put(
        &self,
        name: &str,
        file: &File,
        resumed: Option<Resumed<'_>>,
        control: &mut UploadControl<'_>,
    ) -> Result<u64, UploadError> {
        let length = file.metadata().map_err(UploadError::File)?.len();
        let key = self.address().key(name);
        if length <= PART_SIZE {
            let bytes = read_part(file, 0, length)?;
            let (bucket, credentials) = self.bucket();
            let action = bucket.put_object(credentials, &key);
            let digest = client::md5(&bytes);
            let answer = self.send(
                &action,
                "PUT",
                &[("content-md5", &BASE64.encode(&digest))],
                &bytes,
            )?;
            self.confirmed_etag(&answer, digest)?;
            control.sent.fetch_add(length, Relaxed);
        } else {
            self.put_parts(&key, file, length, resumed, control)?;
        }
        match self.length(name)? {
            Some(stored) if stored == length => Ok(length),
            Some(stored) => Err(self
                .error(
                    format!("{name} has {stored} bytes there, not {length}"),
                    None,
                )
                .into()),
            None => Err(self
                .error(format!("{name} is not there after the upload"), None)
                .into()),
        }
    }

    fn put_parts(
        &self,
        key: &str,
        file: &File,
        length: u64,
        resumed: Option<Resumed<'_>>,
        control: &mut UploadControl<'_>,
    ) -> Result<(), UploadError> {
        let begun = match resumed {
            Some(resumed) => self.resume(key, &resumed)?,
            None => None,
        };
        let begun = if let Some(begun) = begun {
            begun
        } else {
            let part_size = PART_SIZE.max(length.div_ceil(MAX_PARTS));
            let upload = self.create(key)?;
            (control.begun)(&upload, part_size).map_err(UploadError::File)?;
            MultipartUpload {
                upload,
                part_size,
                etags: BTreeMap::new(),
            }
        };
        let MultipartUpload {
            upload,
            part_size,
            etags: known,
        } = begun;
        let parts = length.div_ceil(part_size);
        let next = AtomicU64::new(0);
        let etags: Mutex<BTreeMap<u64, String>> = Mutex::default();
        let failure: Mutex<Option<UploadError>> = Mutex::default();
        let failed = AtomicBool::new(false);
        let (stop, sent) = (control.stop, control.sent);
        let send_parts = || {
            loop {
                let part = next.fetch_add(1, Relaxed);
                if part >= parts || failed.load(Relaxed) {
                    return;
                }
                let result = if stop.load(Relaxed) {
                    Err(UploadError::Stopped)
                } else {
                    let start = part * part_size;
                    let size = part_size.min(length - start);
                    read_part(file, start, size).and_then(|bytes| {
                        let known = known.get(&(part + 1)).map(String::as_str);
                        self.put_part(key, &upload, part + 1, &bytes, known)
                            .inspect(|_| {
                                sent.fetch_add(size, Relaxed);
                            })
                    })
                };
                match result {
                    Ok(etag) => drop(
                        etags
                            .lock()
                            .expect("lock is not poisoned")
                            .insert(part, etag),
                    ),
                    Err(error) => {
                        failed.store(true, Relaxed);
                        failure
                            .lock()
                            .expect("lock is not poisoned")
                            .get_or_insert(error);
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..CONNECTIONS.min(parts as usize) {
                scope.spawn(send_parts);
            }
            send_parts();
        });
        if let Some(error) = failure.into_inner().expect("lock is not poisoned") {
            return Err(error);
        }
        let etags = etags.into_inner().expect("lock is not poisoned");
        self.complete(key, &upload, &etags)
    }

    /// The parts of an upload that was begun; `None` if there is none, or if the store does not know it any more. The
    /// parts are found by element names, because the name of the root element differs between servers.
    fn resume(
        &self,
        key: &str,
        resumed: &Resumed<'_>,
    ) -> Result<Option<MultipartUpload>, UploadError> {
        let upload = resumed.upload;
        let (bucket, credentials) = self.bucket();
        let mut parts = BTreeMap::new();
        let mut marker = None;
        loop {
            let mut action = bucket.list_parts(credentials, key, upload);
            if let Some(marker) = marker {
                action.set_part_number_marker(marker);
            }
            let mut answer = match self.send(&action, "GET", &[], &[]) {
                Ok(answer) => answer,
                Err(error) if error.status == Some(404) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let text = self.text(&mut answer)?;
            for part in text.split("<Part>").skip(1) {
                if let (Some(number), Some(etag)) =
                    (element(part, "PartNumber"), element(part, "ETag"))
                    && let Ok(number) = number.parse::<u64>()
                {
                    let etag = etag.replace("&quot;", "").replace('"', "");
                    parts.insert(number, etag);
                }
            }
            let next = element(&text, "NextPartNumberMarker").and_then(|next| next.parse().ok());
            let is_truncated = element(&text, "IsTruncated") == Some("true");
            marker = next.filter(|next| is_truncated && marker < Some(*next));
            if marker.is_none() {
                return Ok(Some(MultipartUpload {
                    upload: upload.to_owned(),
                    part_size: resumed.part_size,
                    etags: parts,
                }));
            }
        }
    }

    fn create(&self, key: &str) -> Result<String, UploadError> {
        let (bucket, credentials) = self.bucket();
        let action = bucket.create_multipart_upload(credentials, key);
        let mut answer = self.send(&action, "POST", &[], &[])?;
        let text = self.text(&mut answer)?;
        let created = CreateMultipartUpload::parse_response(&text)
            .map_err(|error| self.error(format!("the start of an upload: {error}"), None))?;
        Ok(created.upload_id().to_owned())
    }

    /// Sends a part, unless the store has it already. `known` is the `ETag` of the part in the store.
    fn put_part(
        &self,
        key: &str,
        upload: &str,
        number: u64,
        bytes: &[u8],
        known: Option<&str>,
    ) -> Result<String, UploadError> {
        let digest = client::md5(bytes);
        if known == Some(&HEXLOWER.encode(&digest)) {
            return Ok(HEXLOWER.encode(&digest));
        }
        let (bucket, credentials) = self.bucket();
        let number = u16::try_from(number).expect("there are fewer than 10,000 parts");
        let action = bucket.upload_part(credentials, key, number, upload);
        let answer = self.send(
            &action,
            "PUT",
            &[("content-md5", &BASE64.encode(&digest))],
            bytes,
        )?;
        Ok(self.confirmed_etag(&answer, digest)?)
    }

    /// The `ETag` of an answer. It must be the MD5 of the sent bytes, unless the store encrypts objects with its own
    /// key.
    fn confirmed_etag(&self, answer: &Answer, digest: [u8; 16]) -> Result<String, StoreError> {
        let etag = client::header(answer, "etag")
            .ok_or_else(|| self.error("the answer has no ETag", None))?
            .trim_matches('"');
        let is_encrypted = client::header(answer, "x-amz-server-side-encryption")
            .is_some_and(|kind| kind.starts_with("aws:"));
        if etag != HEXLOWER.encode(&digest) && !is_encrypted {
            return Err(self.error("the store has received other bytes than were sent", None));
        }
        Ok(etag.to_owned())
    }

    fn complete(
        &self,
        key: &str,
        upload: &str,
        etags: &BTreeMap<u64, String>,
    ) -> Result<(), UploadError> {
        let (bucket, credentials) = self.bucket();
        let etags = || etags.values().map(String::as_str);
        let action = bucket.complete_multipart_upload(credentials, key, upload, etags());
        let body = bucket
            .complete_multipart_upload(credentials, key, upload, etags())
            .body();
        let headers = [("content-type", "application/xml")];
        let mut answer = self.send(&action, "POST", &headers, body.as_bytes())?;
        // The answer can describe an error although its status is 200.
        let text = self.text(&mut answer)?;
        CompleteMultipartUploadResponse::parse(&text)
            .map_err(|error| self.error(format!("the end of an upload: {error}"), None))?;
        Ok(())
    }

    fn text(&self, answer: &mut Answer) -> Result<String, StoreError> {
        client::read_text(answer).map_err(|error| self.error(error.to_string(), None))
    }
}

fn read_part(file: &File, start: u64, size: u64) -> Result<Vec<u8>, UploadError> {
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, start)
        .map_err(UploadError::File)?;
    Ok(bytes)
}
