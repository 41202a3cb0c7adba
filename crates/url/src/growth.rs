//! Growing URLs (U6; Viuva Negra 4.1, Castillo A.6.2, Chakrabarti 2.3.6): a misinterpreted relative link makes the path
//! longer with every link followed (`/a/b/b/b/…` or `/a/b/a/b/a/b/…`).
//!
//! A component may occur at most `limit` times in a row, and at most `limit` * [`TOTAL_FACTOR`] times in the whole
//! path. Legitimate paths such as source trees repeat a name a few times (`src/main/java/main`). Traps repeat a name
//! without limit. The number of slashes in a path is limited too, because a server can nest directories with different
//! names to any depth.

/// A component may occur `limit` times in a row, and `limit` times this factor in the whole path.
const TOTAL_FACTOR: usize = 3;

/// If a path has at most this many components, every component is compared with every other. The components of longer
/// paths are sorted instead.
const MAX_PAIRWISE: usize = 24;

/// A component that occurs too often in the path (without query); always `None` if `limit` is 0.
pub(crate) fn repeated(path: &str, limit: usize) -> Option<&str> {
    if limit == 0 {
        return None;
    }
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if all_differ(path.as_bytes()) {
        return None;
    }
    let slashes = memchr::memchr_iter(b'/', path.as_bytes()).count();
    in_a_row(path, limit).or_else(|| in_all(path, slashes + 1, limit * TOTAL_FACTOR))
}

/// The number of slashes in the path (without query), if it is above `limit`; always `None` if `limit` is 0.
pub(crate) fn slashes_beyond(path: &str, limit: usize) -> Option<usize> {
    if limit == 0 || path.len() <= limit {
        return None;
    }
    let slashes = memchr::memchr_iter(b'/', path.as_bytes()).count();
    (slashes > limit).then_some(slashes)
}

/// Quick check that compares a hash of the first byte, the last byte and the length of each component. If all hashes
/// differ, as in most paths, all components differ, and the result is true. False means that a component may occur
/// twice.
fn all_differ(path: &[u8]) -> bool {
    let mut looks = 0_u128;
    path.split(|byte| *byte == b'/').all(|component| {
        let (first, last) = match component {
            [] => (0, 0),
            [first, .., last] => (*first, *last),
            [only] => (*only, *only),
        };
        let look = usize::from(first) + 5 * usize::from(last) + 29 * component.len();
        let look = 1 << (look % 128);
        let is_new = looks & look == 0;
        looks |= look;
        is_new
    })
}

fn in_a_row(path: &str, limit: usize) -> Option<&str> {
    let mut previous = None;
    let mut count = 0;
    for component in path.split('/') {
        count = if previous == Some(component) {
            count + 1
        } else {
            1
        };
        if count > limit {
            return Some(component);
        }
        previous = Some(component);
    }
    None
}

fn in_all(path: &str, components: usize, limit: usize) -> Option<&str> {
    if components <= limit {
        return None;
    }
    if components <= MAX_PAIRWISE {
        let count = |one: &str| path.split('/').filter(|other| *other == one).count();
        return path.split('/').find(|component| count(component) > limit);
    }
    let mut sorted: Vec<&str> = path.split('/').collect();
    sorted.sort_unstable();
    sorted
        .windows(limit + 1)
        .find(|window| window[0] == window[limit])
        .map(|window| window[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, limit: usize, expected: Option<&str>) {
        assert_eq!(repeated(path, limit), expected, "{path}");
    }

    #[test]
    fn consecutive_and_total_repetitions() {
        check("/a/b/c/c/c", 2, Some("c"));
        check("/a/b/c/c/c/", 2, Some("c"));
        check("/a/b/c/c", 2, None);
        check("/2022/02/02/", 2, None);
        check("/src/main/java/main/x/main/Main.java", 2, None);
        check("/a/b/a/b/a/b/a/b/a/b/a/b/a", 2, Some("a"));
        check("/a/b/a/b/a/b/a/b/a/b/a/b", 2, None);
        check("/", 2, None);
        check("////", 2, Some(""));
        check("/x/x/x/x/x/x", 0, None);
    }

    #[test]
    fn slashes_are_counted() {
        let deep = |slashes: usize| "/x".repeat(slashes);
        assert_eq!(slashes_beyond(&deep(32), 32), None);
        assert_eq!(slashes_beyond(&deep(33), 32), Some(33));
        assert_eq!(slashes_beyond(&deep(33), 0), None);
        assert_eq!(slashes_beyond("/", 1), None);
    }

    #[test]
    fn repetitions_in_long_paths() {
        let path = "/a/b".repeat(500);
        check(&path, 2, Some("a"));
        let names: Vec<String> = (0..400).map(|n| n.to_string()).collect();
        let distinct = format!("/{}", names.join("/"));
        check(&distinct, 2, None);
    }
}
