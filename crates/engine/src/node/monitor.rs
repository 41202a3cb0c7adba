//! Reports about a running crawl, made once per second: the file `logs/progress.json`, and notices about the system
//! clock.

use std::path::PathBuf;

use super::{Context, Summary};
use crate::status::clock_watch::{self, ClockWatch};
use crate::status::progress_file::{Outages, ProgressFile};

/// The observer of a running crawl. In a simulation it does nothing.
pub(super) struct Monitor(Option<Observed>);

struct Observed {
    progress: ProgressFile,
    clock: ClockWatch,
}

impl Monitor {
    /// Writes the first state. Sends a notice if the clock is behind the time of an earlier crawl. `path`: the file, or
    /// `None` in a simulation.
    pub(super) fn start(path: Option<PathBuf>, context: &Context) -> Self {
        let Some(path) = path else { return Self(None) };
        let progress = ProgressFile::start(path, context.now());
        if let Some(notice) = clock_watch::behind(progress.clock_behind()) {
            context.reports.notices.send(notice);
        }
        let clock = ClockWatch::new(&context.control.clock);
        let mut monitor = Self(Some(Observed { progress, clock }));
        monitor.update(context);
        monitor
    }

    /// Writes the current state, and sends a notice if the system clock was changed.
    pub(super) fn update(&mut self, context: &Context) {
        let Some(observed) = &mut self.0 else { return };
        let web = &context.network.web;
        let proxies = web.watch_proxies();
        let outages = Outages {
            dns: web.waits_for_dns() && web.watch_dns_outage().borrow().is_some(),
            proxy: proxies.iter().any(|(_, outage)| outage.borrow().is_some()),
        };
        let tally = context.counters().tally();
        observed.progress.update(context.now(), &tally, outages);
        if let Some(notice) = observed.clock.check(&context.control.clock) {
            context.reports.notices.send(notice);
        }
    }

    /// Writes the final state.
    pub(super) fn end(self, now: i64, summary: &Summary) {
        if let Some(observed) = self.0 {
            observed
                .progress
                .end(now, &summary.tally, summary.reason.to_string());
        }
    }
}
