//! Decides between languages that the model confuses, by the declared language or the top-level domain.

/// Hints about the language of a page besides its text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hints<'a> {
    /// The declared language tag.
    pub(super) declared: Option<&'a str>,
    /// The top-level domain of the host.
    pub(super) tld: Option<&'a [u8]>,
}

/// Languages that are close to each other. Each language has the other tags by which pages declare it, and the
/// top-level domains in which it is the usual language.
const GROUPS: &[&[Member]] = &[
    &[member("id", &["in"], "id"), member("ms", &[], "my")],
    &[
        member("hr", &[], "hr"),
        member("sr", &["sh"], "rs"),
        member("bs", &[], "ba"),
    ],
    &[
        member("no", &["nb"], "no"),
        member("nn", &[], ""),
        member("da", &[], "dk"),
    ],
];

/// The hint decides if its language is at least this probable, relative to the most probable one.
const MIN_RELATIVE: f32 = 0.03;

struct Member {
    code: &'static str,
    other_tags: &'static [&'static str],
    tld: &'static str,
}

const fn member(
    code: &'static str,
    other_tags: &'static [&'static str],
    tld: &'static str,
) -> Member {
    Member {
        code,
        other_tags,
        tld,
    }
}

/// The language of a text: `best`, or another language of its group to which the hints point.
pub(super) fn decide(
    best: (&'static str, f32),
    probabilities: &[(&'static str, f32)],
    hints: Hints<'_>,
) -> (&'static str, f32) {
    let Some(group) = group_of(best.0) else {
        return best;
    };
    let Some(hinted) = hinted(group, hints) else {
        return best;
    };
    let probability_of = |code| {
        let found = probabilities.iter().find(|(other, _)| *other == code);
        found.map_or(0.0, |(_, probability)| *probability)
    };
    if probability_of(hinted) < best.1 * MIN_RELATIVE {
        return best;
    }
    // The text shows that the language is one of the group, and the hint shows which one.
    let of_group = group.iter().map(|member| probability_of(member.code)).sum();
    (hinted, of_group)
}

fn group_of(code: &str) -> Option<&'static [Member]> {
    let has = |group: &&[Member]| group.iter().any(|member| member.code == code);
    GROUPS.iter().copied().find(has)
}

/// The member of the group that the page declares, or else the one that is usual in its top-level domain.
fn hinted(group: &'static [Member], hints: Hints<'_>) -> Option<&'static str> {
    let declared = hints.declared.and_then(|tag| {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        group.iter().find(|member| {
            std::iter::once(&member.code)
                .chain(member.other_tags)
                .any(|tag| tag.eq_ignore_ascii_case(primary))
        })
    });
    let usual = || {
        let tld = hints.tld?;
        group.iter().find(|member| member.tld.as_bytes() == tld)
    };
    declared.or_else(usual).map(|member| member.code)
}
