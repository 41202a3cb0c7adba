//! Entry rules: checks before the first request whether the site may be visited.

use std::sync::Arc;

use aranha_fetch::Failure;

use super::{Ending, Visit};

impl Visit {
    /// Ends the visit if the site is blocked or must not be visited yet.
    pub(super) fn enter(&mut self) {
        if self.site.is_blocked() {
            self.ending = Some(Ending::Block);
            return;
        }
        if let Some(entry) = self.context.blocking_entry(&self.site.facts().origin) {
            self.block_by_user(&entry);
            return;
        }
        let retry_after = self.site.facts().retry_after;
        if retry_after > self.context.now() {
            // Retry-After also applies to pages that the user requested.
            self.ending = Some(Ending::ReleaseUntil(retry_after));
            return;
        }
        self.begin_first_visit();
        if self.ending.is_none() && self.context.config().thresholds.trap_pages.is_some() {
            self.test_for_wildcard();
        }
    }

    /// Resolves an invented name in the top-level domain of the site, and refuses the addresses of that name. This is
    /// done once for each top-level domain. The visit waits for the result, because its site may have one of these
    /// addresses.
    pub(super) async fn test_for_tld_wildcard(&mut self) {
        let context = Arc::clone(&self.context);
        if !context.config().crawl.refuse_tld_wildcards {
            return;
        }
        let Some(url) = context.url_of(&self.site.facts().origin, "/") else {
            return;
        };
        let Some(test) = context.watchers.tld_wildcards.test(url.host()) else {
            return;
        };
        let resolve = || async {
            let web = &context.network.web;
            if let Some(Ok(resolved)) = web.resolve_like(&url, &test.invented).await {
                context.refuse_wildcard_targets(&test.tld, &resolved.addresses);
            }
        };
        tokio::select! {
            () = test.cell.get_or_init(resolve) => {}
            () = context.control.stop.wait() => {}
        }
    }

    /// Resolves an invented name in the domain of the site, once for each domain. If the name has an address, the
    /// domain is a wildcard.
    fn test_for_wildcard(&self) {
        let Some(url) = self.context.url_of(&self.site.facts().origin, "/") else {
            return;
        };
        let domains = &self.context.watchers.wildcard_domains;
        let Some(invented) = domains.add_host(url.host(), self.site.key) else {
            return;
        };
        let context = Arc::clone(&self.context);
        tokio::spawn(async move {
            // The lookup takes long during a DNS outage, but must not delay the end of the crawl.
            let result = tokio::select! {
                result = context.network.web.resolve_like(&url, &invented) => result,
                () = context.control.stop.wait() => return,
            };
            // If the address guard refuses the address, the name has an address too.
            if matches!(result, Some(Ok(_) | Err(Failure::AddressRefused { .. }))) {
                context.watchers.wildcard_domains.set_wildcard(url.host());
            }
        });
    }
}
