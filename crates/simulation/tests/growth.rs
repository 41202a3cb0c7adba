//! Tests that memory and cost of a crawl do not grow with the size of the web or with time.
//!
//! The test counts Rust allocations, because they do not depend on the load of the machine. The database cache is not
//! counted, because its size is configured. The counters are for the whole process, so this file has only one test.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use aranha_simulation::{CrawlEnd, Scenario, SimulatedCrawl, WebPlan};

/// Bytes that are allocated and have not been freed.
static LIVE: AtomicU64 = AtomicU64::new(0);
/// Number of allocations.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct CountingAllocator;

#[expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]
// SAFETY: every call is passed unchanged to the system allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as u64, Relaxed);
        ALLOCATIONS.fetch_add(1, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[derive(Debug)]
struct Measurement {
    requests: u64,
    allocations_per_request: f64,
    /// Live bytes of the crawl at each sample.
    live: Vec<u64>,
}

fn crawl(sites: u32, max_pages: u32, duration: Duration) -> Measurement {
    let mut plan = WebPlan::new(3, sites);
    plan.max_pages = max_pages;
    let crawl = SimulatedCrawl {
        duration,
        end: CrawlEnd::Stopped,
        downtime: Duration::ZERO,
    };
    let before = LIVE.load(Relaxed);
    let mut scenario = Scenario::new(plan, Duration::from_secs(2), 6, vec![crawl]);
    scenario.sample_interval = Duration::from_mins(1);
    // The table of recently sent links is small, so that this test fills it.
    scenario.config.frontier.recent_links = 1 << 10;
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("the temporary folder can be created");
    let allocations = ALLOCATIONS.load(Relaxed);
    let paused = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build()
    };
    let mut live = Vec::with_capacity(1 << 16);
    let status = scenario.run(folder.path(), paused, |_| {
        live.push(LIVE.load(Relaxed) - before);
    });
    status.expect("the scenario ends without an error");
    let requests = scenario.network.audit().requests;
    Measurement {
        requests,
        allocations_per_request: (ALLOCATIONS.load(Relaxed) - allocations) as f64 / requests as f64,
        live,
    }
}

fn mean(live: &[u64]) -> f64 {
    live.iter().sum::<u64>() as f64 / live.len() as f64
}

#[test]
fn memory_and_cost_are_constant() {
    let hour = Duration::from_hours(1);
    let small = crawl(60, 20, 10 * hour);
    let large = crawl(240, 20, 10 * hour);
    assert!(large.requests > 3 * small.requests, "{}", large.requests);
    assert!(
        large.allocations_per_request < 1.2 * small.allocations_per_request,
        "allocations per request: {} and {}",
        small.allocations_per_request,
        large.allocations_per_request
    );
    let peak = |measured: &Measurement| measured.live.iter().copied().max().unwrap_or(0);
    let (one, four) = (peak(&small), peak(&large));
    // 180 more sites may take up to 1 MiB. Each needs a host name, the courtesy state of its address and some counters.
    assert!(four < one + (1 << 20), "live bytes: {one} and {four}");

    let steady = crawl(200, 4000, hour);
    let (middle, late) = (&steady.live[20..40], &steady.live[40..]);
    let ratio = mean(late) / mean(middle);
    assert!((0.95..1.05).contains(&ratio), "{ratio}: {:?}", steady.live);
}
