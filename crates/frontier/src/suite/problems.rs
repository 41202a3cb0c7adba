//! Problem sites.

use super::*;

pub(crate) fn a_failed_visit_makes_its_site_a_problem_site(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let seeds = [seed("https://a.example/"), seed("https://b.example/")];
    frontier.seed(0, &seeds).expect("seeds");
    let leases = frontier.check_out(1, 2).expect("checks out");
    let [failed, other] = &leases[..] else {
        panic!("two sites are due")
    };
    let end = |frontier: &mut dyn Frontier, now, lease, problem| {
        frontier
            .end_failed_visit(now, lease, problem, now + 100)
            .expect("ends")
    };
    assert!(end(&mut frontier, 10, failed.id, "a panic"));
    assert!(!end(&mut frontier, 10, failed.id, "a panic"), "lease lost");
    let status = frontier.status(10).expect("status");
    assert_eq!((status.sites.problems, status.sites.leased), (1, 1));
    accept(&mut frontier, 11, finish(other, 11));
    assert_eq!(frontier.check_out(109, 2).expect("checks out"), []);

    // The site is leased again with the window of the last check-in.
    let again = one(&mut frontier, 110);
    assert_eq!(
        (&again.site, &again.pending),
        (&failed.site, &failed.pending)
    );
    assert!(end(&mut frontier, 120, again.id, "another panic"));
    drop(frontier);
    let mut frontier = factory.open(small());
    let expected = ProblemSite {
        site: failed.site.clone(),
        key: failed.site_key,
        faults: 2,
        time: 120,
        problem: "another panic".to_owned(),
    };
    assert_eq!(frontier.problem_sites().expect("lists"), [expected]);
    assert_eq!(frontier.check_out(150, 2).expect("checks out"), []);
    frontier
        .bring_problem_sites_forward(150, &[failed.site_key], 160)
        .expect("brings forward");
    assert_eq!(frontier.check_out(159, 2).expect("checks out"), []);

    // After a visit that ends normally, the site is no problem site any more.
    let last = one(&mut frontier, 160);
    accept(&mut frontier, 170, finish(&last, 170));
    assert_eq!(frontier.problem_sites().expect("lists"), []);
    assert_eq!(frontier.status(170).expect("status").sites.problems, 0);
}
