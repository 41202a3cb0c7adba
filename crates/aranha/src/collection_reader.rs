//! A collection that is opened for reading only: frontier, configuration, scope. A crawl may run at the same time.
//!
//! [`crate::stored_page`] reads single pages through it.

use std::io::ErrorKind;
use std::path::PathBuf;

use aranha_engine::{Collection as Folder, Config, LinkRules};
use aranha_frontier::shared::{BLACKLIST, LINK_RULES};
use aranha_frontier::{Blocked, BlockedBy, Explanation, View};
use aranha_url::{CanonUrl, Canonicaliser, Scope};

use crate::error::CommandError;
use crate::forgotten::{self, ForgottenEntry};
use crate::frontier_access::{self, Opened};
use crate::session;
use crate::shared_args::{CollectionArg, SiteArg};

/// A collection opened for reading.
pub(crate) struct CollectionReader {
    pub(crate) folder: PathBuf,
    pub(crate) view: View,
    pub(crate) config: Config,
    pub(crate) canon: Canonicaliser,
    /// The canonicaliser without the rules that remove parts of a URL. It is needed because earlier crawls may have
    /// stored pages under URLs that the current rules would shorten.
    pub(crate) literal: Canonicaliser,
}

impl CollectionReader {
    pub(crate) fn open(collection: &CollectionArg) -> Result<Self, CommandError> {
        let Opened { config, view } = frontier_access::configuration(collection)?;
        let view = frontier_access::view(collection, view, &config)?;
        let literal = Canonicaliser::new(config.url.literal());
        let canon = Canonicaliser::new(config.url.clone());
        Ok(Self {
            folder: collection.folder.clone(),
            view,
            config,
            canon,
            literal,
        })
    }

    /// The scope that a crawl would have if it started now, from the configuration, the black lists and the seeds.
    pub(crate) fn scope(&self) -> Result<Scope, CommandError> {
        self.scope_of(&self.config)
    }

    /// The configuration, but with the link rules of the last crawl, which may have had other flags.
    pub(crate) fn last_config(&self) -> Config {
        let mut config = self.config.clone();
        let path = Folder::at(&self.folder).link_rules();
        let shared = || LinkRules::parse(&self.view.text(LINK_RULES).ok()??.text);
        if let Some(rules) = LinkRules::load(&path).or_else(shared) {
            rules.apply(&mut config);
        }
        config
    }

    /// The scope of a configuration, with the black lists and the seeds of this collection.
    pub(crate) fn scope_of(&self, config: &Config) -> Result<Scope, CommandError> {
        let mut scope = config.scope()?;
        self.apply_blacklist(&mut scope)?;
        for (site, settings) in self.view.seed_settings()? {
            if let Some(depth) = settings.depth {
                scope.set_site_depth(site, depth);
            }
        }
        for seed in self.view.seeds()? {
            if let Ok(seed) = self.canon.canon(&seed) {
                scope.add_seed(&seed);
            }
        }
        Ok(scope)
    }

    /// Adds the collection's own black list, `blacklist.txt`, to a scope. If nodes share the frontier, adds the list in
    /// the frontier instead.
    fn apply_blacklist(&self, scope: &mut Scope) -> Result<(), CommandError> {
        if let Some(list) = self.view.text(BLACKLIST)? {
            return scope.block(&list.text).map_err(|error| {
                CommandError::failed(format!("the black list of the crawl: {error}"))
                    .hint("remove the entry with `aranha unblock`")
            });
        }
        let path = Folder::at(&self.folder).blacklist();
        let lines = match std::fs::read_to_string(&path) {
            Ok(lines) => lines,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let sentence = format!("cannot read {}: {error}", path.display());
                return Err(CommandError::failed(sentence).hint(
                    "the black list must be a UTF-8 text file that you are allowed to read",
                ));
            }
        };
        scope.block(&lines).map_err(|error| {
            CommandError::failed(format!("{}: {error}", path.display()))
                .hint("correct or remove the line")
        })
    }

    /// When and why the contents of this page were deleted; `None` if they were not deleted.
    pub(crate) fn forgotten(&self, url: &CanonUrl) -> Result<Option<ForgottenEntry>, CommandError> {
        let entries = forgotten::read(&Folder::at(&self.folder), &self.view)?;
        Ok(forgotten::find(entries, &self.literal, url))
    }

    /// The canonical form of a typed URL under the URL rules of this collection.
    pub(crate) fn url(&self, text: &str) -> Result<CanonUrl, CommandError> {
        let mut urls =
            session::parse_seeds(&self.canon, [("argument".to_owned(), text.to_owned())])?;
        Ok(urls.remove(0))
    }

    /// The URL under which a page is stored, and everything that is known about the page. This URL is usually the
    /// canonical form of the typed URL. If an earlier crawl had other URL rules, the page may be stored under the
    /// typed URL instead. Then the typed URL is returned.
    pub(crate) fn stored_url(&self, text: &str) -> Result<(CanonUrl, Explanation), CommandError> {
        let url = self.url(text)?;
        let known = self.view.explain(&url)?;
        if known.records.is_empty()
            && !known.known
            && let Ok(typed) = self.literal.canon(text)
            && typed != url
        {
            let typed_known = self.view.explain(&typed)?;
            if typed_known.known {
                return Ok((typed, typed_known));
            }
        }
        Ok((url, known))
    }

    /// The name of the site to which `--site` restricts a command; `None` without the flag. An unknown site is an
    /// error.
    pub(crate) fn site(&self, site: &SiteArg) -> Result<Option<String>, CommandError> {
        let Some(host) = &site.host else {
            return Ok(None);
        };
        let site = self.url(host)?.site().to_owned();
        if self.view.site(&site)?.is_none() {
            return Err(
                CommandError::failed(format!("the collection has no site `{site}`")).hint(format!(
                    "`aranha sites -c {}` lists its sites",
                    self.folder.display()
                )),
            );
        }
        Ok(Some(site))
    }
}

/// The argument with which `aranha unblock` unblocks a site: the black list entry that blocks the site, or the name of
/// the site.
pub(crate) fn unblock_argument<'a>(site: &'a str, blocked: &'a Blocked) -> &'a str {
    match blocked.by {
        BlockedBy::User => &blocked.reason,
        BlockedBy::Trap => site,
    }
}
