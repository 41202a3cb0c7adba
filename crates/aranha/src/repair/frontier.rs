//! Rebuilds a lost frontier from the volumes: sites, pages, the history of each page, and the seeds.
//!
//! The archive does not contain queued pages that were never fetched, failures without a response, blocks, and revisit
//! histories. So these are lost. All pages become due. The next crawl fetches them unconditionally, and so finds their
//! links again. Unchanged content is stored as a revisit record.

use std::collections::BTreeMap;
use std::path::Path;

use aranha_engine::config::NoIndex;
use aranha_engine::{Clock, Config, Source, probe_path};
use aranha_frontier::{
    Embedded, Flags, Frontier as _, Hop, Language, Outcome, PageRecord, Seed, VisitOrder,
};
use aranha_page::Page;
use aranha_robots::Directives;
use aranha_url::{Base, CanonUrl, Canonicaliser};
use aranha_volume::{ArchiveReader, Location, WarcRecord};
use data_encoding::BASE32;

use super::volume_error;
use crate::error::CommandError;
use crate::stored_page::{self, MAX_DECODED_BODY};

/// The records of one volume by the name of the site, with the origin of the newest record.
pub(crate) type Sites = BTreeMap<String, (String, Vec<PageRecord>)>;

/// Fills an empty frontier. Returns the number of pages.
pub(super) fn rebuild(
    folder: &Path,
    config: &Config,
    frontier: &mut Embedded,
) -> Result<u64, CommandError> {
    let mut seeds = Vec::new();
    each_volume(folder, config, &|_| true, |sites, found_seeds| {
        seeds.extend(found_seeds);
        for (site, (origin, records)) in sites {
            frontier.restore(&site, &origin, &records)?;
        }
        Ok(())
    })?;
    let now = Clock::new().now();
    frontier.seed(now, &seeds)?;
    let order = VisitOrder {
        source: Source::User as u8,
        unconditional: true,
        max_age: 0,
    };
    frontier.make_all_due(now, &order)?;
    // This order to fetch all pages did not come from the user, so `--again` must not continue it.
    frontier.end_order()?;
    Ok(frontier.status(now)?.pages.known)
}

/// Makes page records from the stored responses. For each volume, calls `use_sites` with these records and the seeds
/// among them. `is_wanted` selects responses by their location.
pub(crate) fn each_volume(
    folder: &Path,
    config: &Config,
    is_wanted: &dyn Fn(Location) -> bool,
    mut use_sites: impl FnMut(Sites, Vec<Seed>) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let reader = ArchiveReader::open(folder).map_err(|error| volume_error(&error))?;
    let canon = Canonicaliser::new(config.url.literal());
    for volume in reader.volumes().map_err(|error| volume_error(&error))? {
        let mut sites = Sites::new();
        let mut seeds = Vec::new();
        // The metadata record of a page follows its response. Only pages of the frontier have one.
        let mut response: Option<(String, CanonUrl, Location, WarcRecord)> = None;
        let read = reader.for_each_record(&volume, |location, record| match record.kind() {
            "response" | "revisit" => {
                let id = record.header("WARC-Record-ID").unwrap_or_default();
                let url = record.url().and_then(|url| canon.canon(url).ok());
                response = url.map(|url| (id.to_owned(), url, location, record.clone()));
            }
            "metadata" => {
                let of = record.header("WARC-Concurrent-To");
                if let Some((id, url, location, stored)) = response.take()
                    && of == Some(id.as_str())
                    && is_wanted(location)
                    && url.path() != probe_path(url.site_key())
                {
                    let metadata = Metadata::read(record);
                    if metadata.is_seed() {
                        seeds.push(Seed::of(&url));
                    }
                    let stored = reader.resolve(stored.clone()).unwrap_or(stored);
                    let page = page_record(&url, location, &stored, metadata, config, &canon);
                    let site = sites.entry(url.site().to_owned()).or_default();
                    url.origin().clone_into(&mut site.0);
                    site.1.push(page);
                }
            }
            _ => {}
        });
        read.map_err(|error| volume_error(&error))?;
        use_sites(sites, seeds)?;
    }
    Ok(())
}

/// The fields of a page's metadata record.
#[derive(Default)]
struct Metadata {
    depth: u16,
    duration_ms: u32,
    via: String,
}

impl Metadata {
    fn read(record: &WarcRecord) -> Self {
        let text = String::from_utf8_lossy(record.block()).into_owned();
        let field = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(": "));
            let mut found = lines.filter(|(other, _)| *other == name);
            found.next().map(|(_, value)| value.to_owned())
        };
        let number = |name: &str| field(name).and_then(|value| value.parse().ok());
        Self {
            depth: number("hopsFromSeed").unwrap_or(0) as u16,
            duration_ms: number("fetchTimeMs").unwrap_or(0),
            via: field("via").unwrap_or_default(),
        }
    }

    fn is_seed(&self) -> bool {
        self.depth == 0 && self.via.is_empty()
    }
}

/// Flags for the robots directives of the page. Without these flags, links of a `nofollow` page would be followed when
/// stored pages are read again.
fn robots_flags(stored: &WarcRecord, page: &Page, config: &Config) -> Flags {
    let product = &config.crawl.product;
    let mut directives = Directives::default();
    for (name, content) in &page.robots {
        directives |= Directives::meta(name, content, product);
    }
    for value in stored.http_headers("x-robots-tag") {
        directives |= Directives::header(&value, product);
    }
    let mut flags = Flags::default();
    if directives.noindex && config.crawl.noindex != NoIndex::Store {
        flags = flags.with(Flags::NOINDEX);
    }
    if directives.nofollow {
        flags = flags.with(Flags::NOFOLLOW);
    }
    flags
}

/// Makes the record of a page from its stored response.
fn page_record(
    url: &CanonUrl,
    location: Location,
    stored: &WarcRecord,
    metadata: Metadata,
    config: &Config,
    canon: &Canonicaliser,
) -> PageRecord {
    let status = stored.http_status().unwrap_or(200);
    let page = stored_page::parse(stored, &config.page);
    let digest = stored.header("WARC-Payload-Digest");
    let digest = digest.and_then(|label| label.strip_prefix("sha1:"));
    let digest = digest.and_then(|text| BASE32.decode(text.as_bytes()).ok());
    let target = stored
        .http_header("location")
        .filter(|_| (300..400).contains(&status));
    let target = target.and_then(|href| canon.join(&Base::of(url), &href).ok());
    let mut flags = robots_flags(stored, &page, config);
    if stored.header("WARC-Truncated").is_some() {
        flags = flags.with(Flags::TRUNCATED);
    }
    PageRecord {
        path: url.path().to_owned(),
        key: url.path_key(),
        depth: metadata.depth,
        site_depth: 0,
        time: stored.time_ms().unwrap_or_default(),
        outcome: Outcome::Answer(status),
        media_type: page.media_type.to_string(),
        size: stored.body_decoded(MAX_DECODED_BODY).len() as u64,
        digest: digest.and_then(|bytes| bytes.try_into().ok()),
        text_digest: page.text_digest,
        language: page.language_found.map(|found| Language {
            code: found.code.to_owned(),
            confidence: found.confidence,
        }),
        location: Some(location),
        revisit: stored.is_revisit(),
        duration_ms: metadata.duration_ms,
        tries: 0,
        hop: if metadata.is_seed() {
            Hop::Seed
        } else {
            Hop::Link
        },
        via: metadata.via,
        redirect: target.map(CanonUrl::into_string),
        flags,
        next: None,
        past: None,
    }
}
