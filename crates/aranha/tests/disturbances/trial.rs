//! The size of a trial, and when what is disturbed.

use std::time::Duration;

use aranha_lab::{Chance, Plan, Sizes};

use crate::breaking_proxy::Fault;

/// The size of a trial. The environment variable `ARANHA_CLUSTER` has other numbers, such as `nodes=8,seconds=480`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub(crate) nodes: usize,
    pub(crate) sites: usize,
    /// Number of pages of the smallest and of the largest site.
    pub(crate) smallest: usize,
    pub(crate) largest: usize,
    /// Percentage of the sites that are on one address.
    pub(crate) crowded: usize,
    /// The courtesy pause in milliseconds.
    pub(crate) pause: u64,
    /// Number of sites that a node visits at a time.
    pub(crate) slots: usize,
    /// Seconds in which everything is disturbed.
    pub(crate) seconds: u64,
    /// Seconds after which the rest of the crawl must have ended.
    pub(crate) limit: u64,
    /// Time without renewal after which a node is declared dead, in milliseconds.
    pub(crate) ttl: u64,
    /// Milliseconds from one kill of a node to the next.
    pub(crate) kills: u64,
    /// Number of kills of the database.
    pub(crate) crashes: u64,
    /// Size at which a volume is closed, in kilobytes.
    pub(crate) volume: usize,
    pub(crate) seed: u64,
}

/// One disturbance, or its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Disturbance {
    Kill(usize),
    /// Stop and continue a process.
    Stop(usize),
    GoOn(usize),
    /// Break or mend the way of one node to the database.
    Link(usize, Fault),
    /// Break or mend the way to the store.
    Store(Fault),
    Crash,
    Restart,
}

impl Trial {
    /// The short trial, or what the environment says.
    pub(crate) fn new() -> Trial {
        let mut trial = Trial {
            nodes: 4,
            sites: 40,
            smallest: 8,
            largest: 60,
            crowded: 20,
            pause: 100,
            slots: 16,
            seconds: 15,
            limit: 120,
            ttl: 3000,
            kills: 4000,
            crashes: 2,
            volume: 30,
            seed: 1,
        };
        let text = std::env::var("ARANHA_CLUSTER").unwrap_or_default();
        for entry in text.split(',').filter(|entry| !entry.is_empty()) {
            let (name, value) = entry.split_once('=').expect("NAME=NUMBER");
            let number: u64 = value.parse().expect("a number");
            match name {
                "nodes" => trial.nodes = number as usize,
                "sites" => trial.sites = number as usize,
                "smallest" => trial.smallest = number as usize,
                "largest" => trial.largest = number as usize,
                "crowded" => trial.crowded = number as usize,
                "pause" => trial.pause = number,
                "slots" => trial.slots = number as usize,
                "seconds" => trial.seconds = number,
                "limit" => trial.limit = number,
                "ttl" => trial.ttl = number,
                "kills" => trial.kills = number,
                "crashes" => trial.crashes = number,
                "volume" => trial.volume = number as usize,
                "seed" => trial.seed = number,
                _ => panic!("unknown number {name}"),
            }
        }
        trial
    }

    pub(crate) fn ttl(self) -> Duration {
        Duration::from_millis(self.ttl)
    }

    /// Time for which a node is stopped, so that others have its sites when it continues.
    pub(crate) fn long_stop(self) -> Duration {
        2 * self.ttl()
    }

    pub(crate) fn pause(self) -> Duration {
        Duration::from_millis(self.pause)
    }

    /// A web of which some sites are on one address.
    pub(crate) fn plan(self) -> Plan {
        Plan {
            sites: self.sites,
            pages: Sizes {
                smallest: self.smallest,
                largest: self.largest.max(self.smallest),
            },
            addresses: self.sites,
            crowded: self.crowded,
            seeds: self.sites / 2,
            // Redirects to HTTPS would only take time.
            secure: 0,
            ..Plan::small(self.seed)
        }
    }

    /// All disturbances with their times, in order.
    pub(crate) fn disturbances(self) -> Vec<(Duration, Disturbance)> {
        use Disturbance::{Crash, GoOn, Kill, Link, Restart, Stop, Store};
        let total = Duration::from_secs(self.seconds);
        let node = |key: u64, turn: u64| Chance::of(self.seed, &[key, turn]).below(self.nodes);
        let mut found = Vec::new();
        // Calls `add` with the number and the time of each turn.
        let mut each = |first: Duration, every: Duration, add: &dyn Fn(u64, Duration) -> Vec<_>| {
            let times = (0..).map(|turn: u32| (turn.into(), first + turn * every));
            for (turn, time) in times.take_while(|(_, time)| *time < total) {
                found.extend(add(turn, time));
            }
        };
        let ttl = self.ttl();
        let kills = Duration::from_millis(self.kills);
        each(kills, kills, &|turn, at| vec![(at, Kill(node(1, turn)))]);
        // A long stop costs the node its sites, a short one does not.
        each(ttl / 3, ttl * 3, &|turn, at| {
            let (node, long) = (node(2, turn), turn % 3 != 2);
            let time = if long { self.long_stop() } else { ttl / 4 };
            vec![(at, Stop(node)), (at + time, GoOn(node))]
        });
        each(ttl * 2 / 3, ttl * 3, &|turn, at| {
            let node = node(3, turn);
            let (fault, time) = [
                (Fault::Silent, ttl * 2),
                (Fault::Closed, ttl * 2),
                (Fault::Silent, ttl / 3),
                (Fault::Closed, ttl / 3),
                (Fault::ClosedAfter(3000), ttl / 2),
            ][turn as usize % 5];
            vec![
                (at, Link(node, fault)),
                (at + time, Link(node, Fault::None)),
            ]
        });
        each(ttl / 4, ttl * 2, &|turn, at| {
            let fault = [
                Fault::Refused(507),
                Fault::Closed,
                Fault::ClosedAfter(9000),
                Fault::Refused(503),
                Fault::Silent,
            ][turn as usize % 5];
            vec![(at, Store(fault)), (at + ttl, Store(Fault::None))]
        });
        let crashes = total / u32::try_from(self.crashes.max(1)).expect("few");
        if self.crashes > 0 {
            each(crashes / 2, crashes, &|turn, at| {
                let away = [ttl / 10, ttl, ttl * 2][turn as usize % 3];
                vec![(at, Crash), (at + away, Restart)]
            });
        }
        found.sort_by_key(|(time, _)| *time);
        found
    }
}
