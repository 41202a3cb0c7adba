//! The window and the queue behind it.

use super::*;

pub(crate) fn the_queue_is_first_in_first_out(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let new: Vec<Pending> = (0..10).map(|n| page(&format!("/{n}"))).collect();
    let mut entry = finish(&lease, 1);
    entry.window = WindowUpdate::Replace(new[..2].to_vec());
    entry.overflow = new[2..7].to_vec();
    entry.keys = new[..7].iter().map(|page| page.key).collect();
    entry.then = Then::Keep { want: 2 };
    let reply = accept(&mut frontier, 2, entry);
    assert_eq!(paths(&reply.more), ["/2", "/3"]);
    assert!(reply.has_more && !reply.released);
    // The pages of the reply are in the window from now on.
    let mut entry = release(&lease, 5);
    entry.window = WindowUpdate::Replace(new[1..4].to_vec());
    entry.overflow = new[7..].to_vec();
    entry.keys = new[7..].iter().map(|page| page.key).collect();
    accept(&mut frontier, 3, entry);
    let lease = one(&mut frontier, 5);
    assert_eq!(paths(&lease.pending), ["/1", "/2", "/3", "/4"]);
    assert!(lease.has_more);
    assert_eq!(lease.known.len(), 11);
    let mut entry = release(&lease, 6);
    entry.then = Then::Keep { want: 50 };
    let reply = accept(&mut frontier, 6, entry);
    assert_eq!(paths(&reply.more), ["/5", "/6", "/7", "/8", "/9"]);
    assert!(!reply.has_more);
}

/// Pages with these numbers. Every third one has a past.
fn pages(numbers: std::ops::Range<usize>) -> Vec<Pending> {
    let past = |number: usize| {
        number.is_multiple_of(3).then(|| {
            Box::new(Past {
                time: number as i64,
                visited: number as i64 + 1,
                etag: format!("\"{number}\""),
                ..Past::default()
            })
        })
    };
    let pages = numbers.map(|number| Pending {
        past: past(number),
        ..page(&format!("/{number}"))
    });
    pages.collect()
}

/// A check-in that keeps the lease and asks for up to `want` pages.
fn keep(lease: &Lease, window: WindowUpdate, want: usize) -> CheckIn {
    CheckIn {
        window,
        then: Then::Keep { want },
        ..release(lease, 0)
    }
}

fn tail(keep_last: usize, append: Vec<Pending>) -> WindowUpdate {
    WindowUpdate::Tail { keep_last, append }
}

/// Seed and check out a site, and set its window.
fn begin_with(frontier: &mut impl Frontier, window: &[Pending]) -> Lease {
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(frontier, 0);
    let entry = CheckIn {
        done: finish(&lease, 1).done,
        keys: window.iter().map(|page| page.key).collect(),
        ..keep(&lease, WindowUpdate::Replace(window.to_vec()), 0)
    };
    accept(frontier, 1, entry);
    lease
}

/// Close the frontier, open it again, and return the window at the next check-out.
fn reopened_window<P: EngineFactory>(factory: &P, frontier: P::Engine) -> Vec<Pending> {
    drop(frontier);
    let mut frontier = factory.open(Options::default());
    one(&mut frontier, 1 << 40).pending
}

pub(crate) fn taken_pages_leave_the_window(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let window = pages(0..4);
    let lease = begin_with(&mut frontier, &window);
    accept(&mut frontier, 2, keep(&lease, tail(3, Vec::new()), 0));
    assert_eq!(frontier.status(2).expect("status").pages.queued, 3);
    accept(&mut frontier, 3, keep(&lease, tail(1, Vec::new()), 0));
    let waits = |frontier: &dyn Frontier, path: &str| {
        let found = frontier.explain(&url(&format!("https://a.example{path}")));
        found.expect("explains").waiting
    };
    assert_eq!(waits(&frontier, "/2"), None);
    assert_eq!(waits(&frontier, "/3"), Some(Waiting::Window));
    assert_eq!(reopened_window(factory, frontier), window[3..]);
}

pub(crate) fn an_emptied_window_takes_new_pages(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let window = pages(0..6);
    let lease = begin_with(&mut frontier, &window[..3]);
    accept(&mut frontier, 2, keep(&lease, tail(0, Vec::new()), 0));
    assert_eq!(frontier.status(2).expect("status").pages.queued, 0);
    let more = window[3..].to_vec();
    accept(&mut frontier, 3, keep(&lease, tail(0, more), 0));
    assert_eq!(reopened_window(factory, frontier), window[3..]);
}

pub(crate) fn appended_pages_follow_the_kept_ones(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let all = pages(0..8);
    let lease = begin_with(&mut frontier, &all[..4]);
    let more = all[4..6].to_vec();
    accept(&mut frontier, 2, keep(&lease, tail(2, more), 0));
    // Only the last of the stored pages is kept.
    let more = all[6..].to_vec();
    accept(&mut frontier, 3, keep(&lease, tail(1, more), 0));
    assert_eq!(reopened_window(factory, frontier), all[5..]);
}

pub(crate) fn pages_of_a_reply_are_appended_to_the_window(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let all = pages(0..8);
    let lease = begin_with(&mut frontier, &all[..3]);
    let entry = CheckIn {
        overflow: all[4..].to_vec(),
        ..keep(&lease, tail(1, all[3..4].to_vec()), 2)
    };
    assert_eq!(accept(&mut frontier, 2, entry).more, all[4..6]);
    // The first page is taken; the other three stay.
    let reply = accept(&mut frontier, 3, keep(&lease, tail(3, Vec::new()), 1));
    assert_eq!(reply.more, all[6..7]);
    accept(&mut frontier, 4, keep(&lease, tail(2, Vec::new()), 0));
    assert_eq!(reopened_window(factory, frontier), all[5..]);
}

pub(crate) fn replace_overrides_the_stored_window(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let all = pages(0..9);
    let lease = begin_with(&mut frontier, &all[..2]);
    accept(
        &mut frontier,
        2,
        keep(&lease, tail(1, all[2..4].to_vec()), 0),
    );
    let other = vec![all[3].clone(), all[1].clone(), all[4].clone()];
    accept(
        &mut frontier,
        3,
        keep(&lease, WindowUpdate::Replace(other), 0),
    );
    accept(
        &mut frontier,
        4,
        keep(&lease, tail(2, all[5..6].to_vec()), 0),
    );
    let left = reopened_window(factory, frontier);
    assert_eq!(paths(&left), ["/1", "/4", "/5"]);
}

pub(crate) fn a_release_keeps_the_rest_of_the_window(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let all = pages(0..6);
    let lease = begin_with(&mut frontier, &all[..4]);
    let entry = CheckIn {
        window: tail(2, all[4..5].to_vec()),
        ..release(&lease, 50)
    };
    assert!(accept(&mut frontier, 2, entry).released);
    assert_eq!(frontier.status(2).expect("status").next_due, Some(50));
    let lease = one(&mut frontier, 50);
    assert_eq!(lease.pending, all[2..5]);
    // The pages of the lease are now the stored window.
    let entry = CheckIn {
        window: tail(1, all[5..].to_vec()),
        ..release(&lease, 60)
    };
    accept(&mut frontier, 51, entry);
    assert_eq!(reopened_window(factory, frontier), all[4..]);
}

/// Makes 200 check-ins that take pages, append pages, ask for pages and release the lease; some leases are lost.
pub(crate) fn windows_keep_their_order(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let mut window = pages(0..3);
    let mut next = 3;
    let mut lease = begin_with(&mut frontier, &window);
    let mut stored = window.len();
    for round in 0..200i64 {
        let now = 10 + round * 1_000_000;
        let taken = (round as usize * 7 % 5).min(window.len());
        window.drain(..taken);
        stored = stored.saturating_sub(taken);
        let new = pages(next..next + round as usize % 4);
        next += new.len();
        let overflow = pages(next..next + round as usize % 3);
        next += overflow.len();
        window.extend_from_slice(&new);
        let update = tail(stored, window[stored..].to_vec());
        let keys = new.iter().chain(&overflow).map(|page| page.key);
        let mut entry = CheckIn {
            keys: keys.collect(),
            overflow,
            ..keep(&lease, update, round as usize % 3)
        };
        let ends = round % 13 == 12;
        if ends {
            entry.then = Then::Release { due: now };
        }
        window.extend(accept(&mut frontier, now, entry).more);
        let is_lost = round % 31 == 30;
        if is_lost {
            drop(frontier);
            frontier = factory.open(small());
        }
        if ends || is_lost {
            let leases = frontier.check_out(now + 1, 1).expect("checks out");
            let Some(next_lease) = leases.into_iter().next() else {
                panic!(
                    "round {round}: the site is not due, {} pages wait",
                    window.len()
                );
            };
            assert_eq!(next_lease.pending[..window.len()], window, "round {round}");
            window.clone_from(&next_lease.pending);
            lease = next_lease;
        }
        stored = window.len();
    }
    let left = reopened_window(factory, frontier);
    assert_eq!(left[..window.len()], window);
}

pub(crate) fn keeping_more_pages_than_the_window_has_is_an_error(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let window = pages(0..3);
    let lease = begin_with(&mut frontier, &window);
    let wrong = keep(&lease, tail(4, pages(3..4)), 0);
    let error = frontier.check_in(2, vec![wrong]).expect_err("refused");
    assert!(matches!(error, FrontierError::Damaged { .. }), "{error}");
    assert_eq!(reopened_window(factory, frontier), window);
}
