//! Growing URLs (U6; V 4.1, P A.6.2, K 2.3.6): a relative link that a server misreads makes the path longer with
//! every step (`/a/b/b/b/…`, or in turns `/a/b/a/b/a/b/…`).
//!
//! A component may stand at most `limit` times in a row and [`IN_ALL`] times that often in the whole path: source
//! trees repeat a name here and there (`src/main/java/main`), traps do it without end.

/// How many times the limit for a row is the limit for the whole path.
const IN_ALL: usize = 3;

/// Paths with fewer components than this are compared pair by pair, longer ones are sorted first.
const FEW: usize = 24;

/// The first component that stands too often in the path (without query); `limit` 0 means none ever does.
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
    in_a_row(path, limit).or_else(|| in_all(path, slashes + 1, limit * IN_ALL))
}

/// Whether no two components look alike, by their ends and their length: true for most paths, and then no more is asked.
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
    if components <= FEW {
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
    fn rows_and_totals() {
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
    fn long_paths_are_sorted_not_compared() {
        let path = "/a/b".repeat(500);
        check(&path, 2, Some("a"));
        let names: Vec<String> = (0..400).map(|n| n.to_string()).collect();
        let distinct = format!("/{}", names.join("/"));
        check(&distinct, 2, None);
    }
}
