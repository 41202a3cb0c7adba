//! Faults that tests inject into a crawl: panics, and work that never ends.
//!
//! The environment variable `ARANHA_INJECT_FAULTS` has a list such as `visit=panic:1%,read=hang:/page7`. Each entry has
//! a point of the crawl, a kind of fault, and the places where the fault occurs. `1%` stands for that share of all
//! places, chosen by hash. Any other text stands for the places whose names contain it. `clock=shift:-7` sets the clock
//! of the crawl back by 7 minutes. The variable is read once. **A release build does not contain this code** and ignores
//! the variable.

/// A point of the crawl at which faults can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// The task of a visit. It can panic when it applies the result of a fetch, or hang in its loop. The name of the
    /// place is the site.
    Visit,
    /// The fetch of a page. The name of the place is the URL.
    Fetch,
    /// The reading of a page. The name of the place is the URL.
    Read,
    /// The fence of a node in a crawl on many machines. A fault at this point has no places.
    Fence,
    /// The clock of the crawl. Instead of a place, the entry has a number of minutes.
    #[cfg_attr(
        not(debug_assertions),
        expect(dead_code, reason = "a release build shifts no clock")
    )]
    Clock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(debug_assertions),
    expect(dead_code, reason = "a release build injects no fault")
)]
pub(crate) enum FaultKind {
    Panic,
    Hang,
    /// A safeguard is switched off, so that a test can show why the safeguard is needed.
    Off,
    /// The clock is wrong.
    Shift,
}

/// Panics or never returns, if a fault is injected at this place.
pub(crate) fn inject(point: FaultPoint, place: &str) {
    match fault_at(point, place) {
        None | Some(FaultKind::Off | FaultKind::Shift) => {}
        Some(FaultKind::Panic) => panic!("injected fault"),
        Some(FaultKind::Hang) => loop {
            std::thread::park();
        },
    }
}

/// Never completes, if the fault [`FaultKind::Hang`] is injected at this place. The task does not occupy a thread.
pub(crate) async fn hang(point: FaultPoint, place: &str) {
    if fault_at(point, place) == Some(FaultKind::Hang) {
        std::future::pending::<()>().await;
    }
}

/// Whether the safeguard at this point is switched off.
pub(crate) fn is_off(point: FaultPoint) -> bool {
    fault_at(point, "") == Some(FaultKind::Off)
}

/// Milliseconds by which the clock of the crawl is wrong.
#[cfg(not(debug_assertions))]
pub(crate) const fn clock_shift_ms() -> i64 {
    0
}

#[cfg(debug_assertions)]
pub(crate) use self::debug_build::clock_shift_ms;

#[cfg(not(debug_assertions))]
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "nothing may remain in a release build"
)]
fn fault_at(_: FaultPoint, _: &str) -> Option<FaultKind> {
    None
}

#[cfg(debug_assertions)]
use self::debug_build::fault_at;

#[cfg(debug_assertions)]
mod debug_build {
    use std::sync::OnceLock;

    use xxhash_rust::xxh3::xxh3_64;

    use super::{FaultKind, FaultPoint};

    #[derive(Debug, PartialEq, Eq)]
    struct Fault {
        point: FaultPoint,
        kind: FaultKind,
        places: String,
    }

    fn faults() -> &'static [Fault] {
        static FAULTS: OnceLock<Vec<Fault>> = OnceLock::new();
        FAULTS.get_or_init(|| {
            let list = std::env::var("ARANHA_INJECT_FAULTS").unwrap_or_default();
            list.split(',').filter_map(parse).collect()
        })
    }

    pub(super) fn fault_at(point: FaultPoint, place: &str) -> Option<FaultKind> {
        let matching = |fault: &&Fault| fault.point == point && matches(&fault.places, place);
        faults().iter().find(matching).map(|fault| fault.kind)
    }

    pub(crate) fn clock_shift_ms() -> i64 {
        let shift = |fault: &&Fault| fault.point == FaultPoint::Clock;
        let shift = faults().iter().find(shift);
        shift.map_or(0, |fault| fault.places.parse().unwrap_or(0) * 60_000)
    }

    fn parse(text: &str) -> Option<Fault> {
        let (point, rest) = text.split_once('=')?;
        let (kind, places) = rest.split_once(':')?;
        Some(Fault {
            point: match point {
                "visit" => FaultPoint::Visit,
                "fetch" => FaultPoint::Fetch,
                "read" => FaultPoint::Read,
                "fence" => FaultPoint::Fence,
                "clock" => FaultPoint::Clock,
                _ => return None,
            },
            kind: match kind {
                "panic" => FaultKind::Panic,
                "hang" => FaultKind::Hang,
                "off" => FaultKind::Off,
                "shift" => FaultKind::Shift,
                _ => return None,
            },
            places: places.to_owned(),
        })
    }

    fn matches(places: &str, place: &str) -> bool {
        match places.strip_suffix('%').map(str::parse::<u64>) {
            Some(Ok(percent)) => xxh3_64(place.as_bytes()) % 100 < percent,
            _ => place.contains(places),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn faults_are_parsed_and_matched() {
            let fault = parse("read=hang:/page7").unwrap();
            assert_eq!(
                (fault.point, fault.kind),
                (FaultPoint::Read, FaultKind::Hang)
            );
            assert!(
                matches(&fault.places, "http://a/page7") && !matches(&fault.places, "http://a/")
            );
            assert_eq!(parse("read=hang"), None);
            let chosen = (0..10_000)
                .filter(|n| matches("1%", &format!("site{n}")))
                .count();
            assert!((50..150).contains(&chosen), "{chosen}");
        }
    }
}
