//! KLWF (F7): the longest wait first, and so no site starves.

use aranha_simulation::{Course, Plan};

use crate::{DAY, MINUTE, life, run};

#[test]
fn no_site_starves_and_none_is_passed_over() {
    let (slots, quantum) = (6, MINUTE);
    let mut plan = Plan::new(5, 120);
    plan.largest = 400;
    let mut course = Course::new(plan, MINUTE / 30, slots, vec![life(30 * DAY)]);
    course.config.crawl.quantum = quantum;
    let (status, _) = run(&course);
    let waits = course.waited();
    assert_eq!(waits.unfair, 0);
    assert_eq!((status.sites.leased, status.pages.pending), (0, 0));
    assert!(waits.count > 200, "{}", waits.count);
    // Everybody else may come first, each for a quantum and the answers under way.
    let longest = status.sites.known as u32 / slots as u32 * (quantum + MINUTE);
    let waited = std::time::Duration::from_millis(waits.longest as u64);
    assert!(waited <= longest, "{waited:?} of {longest:?}");
    assert!(waited > quantum, "nobody had to wait: {waited:?}");
}
