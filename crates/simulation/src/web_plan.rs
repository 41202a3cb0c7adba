//! The parameters of a simulated web. They determine every site and page.

/// Parameters of a simulated web. Percentages are shares of all sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebPlan {
    /// Seed of all pseudo-random numbers.
    pub seed: u64,
    /// Number of sites.
    pub sites: u32,
    /// Maximum number of pages of a site. For every k up to this number, about one site in k has at least k pages
    /// (Zipf's law).
    pub max_pages: u32,
    /// Percentage of sites that share their IP address.
    pub shared_address_percent: u32,
    /// Average number of sites at a shared address.
    pub sites_per_shared_address: u32,
    /// Percentage of sites whose robots.txt has a Crawl-delay.
    pub crawl_delay_percent: u32,
    /// The longest Crawl-delay, in seconds.
    pub max_crawl_delay_secs: u32,
    /// Percentage of sites that have an outage of one to five days.
    pub outage_percent: u32,
    /// Percentage of sites that sometimes respond with Retry-After.
    pub retry_after_percent: u32,
    /// Percentage of host names that do not exist.
    pub missing_percent: u32,
    /// Start of the simulation, unix milliseconds.
    pub start: i64,
}

impl WebPlan {
    /// A web of `sites` sites with typical faults.
    pub fn new(seed: u64, sites: u32) -> WebPlan {
        WebPlan {
            seed,
            sites,
            max_pages: 200,
            shared_address_percent: 30,
            sites_per_shared_address: 20,
            crawl_delay_percent: 10,
            max_crawl_delay_secs: 45,
            outage_percent: 5,
            retry_after_percent: 5,
            missing_percent: 1,
            start: 1_767_225_600_000, // 2026-01-01
        }
    }
}
