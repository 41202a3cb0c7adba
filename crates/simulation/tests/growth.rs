//! What a crawl takes grows neither with its web nor with its time. Counted are Rust's allocations, live and in all, which
//! no busy machine changes. The database's pages are bounded by configuration and not in it. One test: the counts are of
//! the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use aranha_simulation::{Course, End, Life, Plan};

static LIVE: AtomicU64 = AtomicU64::new(0);
static MADE: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as u64, Relaxed);
        MADE.fetch_add(1, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What one crawl took.
#[derive(Debug)]
struct Taken {
    requests: u64,
    /// Allocations a request.
    made: f64,
    /// Live bytes beyond what there was before, at each sample.
    live: Vec<u64>,
}

fn crawl(sites: u32, largest: u32, length: Duration) -> Taken {
    let mut plan = Plan::new(3, sites);
    plan.largest = largest;
    let life = Life {
        length,
        end: End::Stopped,
        rest: Duration::ZERO,
    };
    let before = LIVE.load(Relaxed);
    let mut course = Course::new(plan, Duration::from_secs(2), 6, vec![life]);
    course.every = Duration::from_mins(1);
    // Smaller, so that a test can fill it.
    course.config.frontier.recent_links = 1 << 10;
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder");
    let made = MADE.load(Relaxed);
    let paused = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build()
    };
    let mut live = Vec::with_capacity(1 << 16);
    let status = course.run(folder.path(), paused, |_| {
        live.push(LIVE.load(Relaxed) - before);
    });
    status.expect("a course without failures");
    let requests = course.network.ledger().requests;
    Taken {
        requests,
        made: (MADE.load(Relaxed) - made) as f64 / requests as f64,
        live,
    }
}

fn mean(live: &[u64]) -> f64 {
    live.iter().sum::<u64>() as f64 / live.len() as f64
}

#[test]
fn memory_and_cost_are_flat() {
    let hour = Duration::from_hours(1);
    let small = crawl(60, 20, 10 * hour);
    let large = crawl(240, 20, 10 * hour);
    assert!(large.requests > 3 * small.requests, "{}", large.requests);
    assert!(
        large.made < 1.2 * small.made,
        "allocations a request: {} and {}",
        small.made,
        large.made
    );
    let most = |taken: &Taken| taken.live.iter().copied().max().unwrap_or(0);
    let (one, four) = (most(&small), most(&large));
    // A name, a gate and some counters for each of 180 sites more: nothing that is kept for ever.
    assert!(four < one + (1 << 20), "live bytes: {one} and {four}");

    let steady = crawl(200, 4000, hour);
    let (middle, late) = (&steady.live[20..40], &steady.live[40..]);
    let ratio = mean(late) / mean(middle);
    assert!((0.95..1.05).contains(&ratio), "{ratio}: {:?}", steady.live);
}
