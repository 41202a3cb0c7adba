//! What the user has set for seeds.

use super::*;

pub(crate) fn settings_of_a_seed_are_kept_and_replaced(factory: &impl EngineFactory) {
    let home = seed("https://a.example/");
    let settings = SeedSettings {
        depth: Some(2),
        every: Some(Duration::from_hours(48)),
        max_every: None,
    };
    let explained = |frontier: &mut dyn Frontier, text: &str| {
        let found = frontier.explain(&url(text)).expect("explains");
        found.settings
    };
    let mut frontier = factory.open(small());
    frontier
        .seed(0, std::slice::from_ref(&home))
        .expect("seeds");
    assert_eq!(frontier.seed_settings().expect("reads"), []);
    frontier
        .set_seed_settings(0, &[(home.site_key, settings)])
        .expect("sets");
    // A repeated seed, a visit and a new opening keep the settings.
    frontier
        .seed(1, std::slice::from_ref(&home))
        .expect("seeds");
    let lease = one(&mut frontier, 2);
    accept(&mut frontier, 3, finish(&lease, 3));
    drop(frontier);
    let mut frontier = factory.open(small());
    let all = [(home.site_key, settings)];
    assert_eq!(frontier.seed_settings().expect("reads"), all);
    assert_eq!(factory.view().seed_settings().expect("reads"), all);
    assert_eq!(explained(&mut frontier, "https://a.example/any"), settings);
    let none = SeedSettings::default();
    assert_eq!(explained(&mut frontier, "https://b.example/"), none);
    let longest = SeedSettings {
        max_every: Some(Duration::from_millis(1500)),
        ..none
    };
    let other = seed("https://b.example/").site_key;
    frontier
        .set_seed_settings(4, &[(home.site_key, longest), (other, settings)])
        .expect("sets");
    assert_eq!(explained(&mut frontier, "https://a.example/"), longest);
    assert_eq!(frontier.seed_settings().expect("reads").len(), 2);
    frontier
        .set_seed_settings(5, &[(home.site_key, none)])
        .expect("sets");
    assert_eq!(
        frontier.seed_settings().expect("reads"),
        [(other, settings)]
    );
}
