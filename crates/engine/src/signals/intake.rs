//! Turns signals into claims, and adds them to the frontier.

use std::time::Duration;

use aranha_frontier::{Claim, FrontierError, Hop, Outside, Seed};

use crate::node::{Context, Node};
use crate::signals::{self, Signal, SignalBatch, Source};
use crate::status::notice::Notice;
use crate::status::tally::add;

impl Node {
    /// Moves signals from the file to the frontier. Unreadable signals cause a notice, not an error.
    pub(crate) async fn take_in_signals(&self) -> Result<(), FrontierError> {
        let context = &self.context;
        let taken = match SignalBatch::take(&self.signals) {
            Ok(Some(taken)) => taken,
            Ok(None) => return Ok(()),
            Err(error) => {
                let problem = format!("{}: {error}", self.signals.display());
                context
                    .reports
                    .notices
                    .send(Notice::SignalsError { problem });
                return Ok(());
            }
        };
        let (claims, seeds) = context.claims(&taken.signals);
        add(
            &context.counters().signals,
            (claims.len() + seeds.len()) as u64,
        );
        let now = context.now();
        let claimed = self
            .frontier
            .persist(move |frontier| {
                if !seeds.is_empty() {
                    frontier.seed(now, &seeds)?;
                }
                frontier.claim(now, &claims, signals::weigh)
            })
            .await?;
        add(
            &context.counters().revisits_advanced,
            claimed.brought_forward,
        );
        add(&context.counters().pages_announced, claimed.new);
        let invalid_lines = taken.invalid_lines;
        let removed = taken.remove();
        if invalid_lines > 0 || removed.is_err() {
            let problem = match removed {
                Err(error) => format!("{}: {error}", self.signals.display()),
                Ok(()) => format!(
                    "{}: {invalid_lines} lines are not signals",
                    self.signals.display()
                ),
            };
            context
                .reports
                .notices
                .send(Notice::SignalsError { problem });
        }
        Ok(())
    }
}

impl Context {
    /// Converts signals about pages in scope to claims. Pages that the user requested also become seeds.
    fn claims(&self, signals: &[Signal]) -> (Vec<(Outside, Claim)>, Vec<Seed>) {
        let (mut claims, mut seeds) = (Vec::new(), Vec::new());
        for signal in signals {
            let Ok(url) = self.policy.canon.canon(&signal.url) else {
                continue;
            };
            if signal.source == Source::User {
                seeds.push(self.scope.add_seed(&url));
            }
            if !self.scope.wants(&url, 0) {
                continue;
            }
            let hop = match signal.source {
                Source::Proxy => Hop::ProxyCache,
                _ => Hop::Signal,
            };
            let (delay, min_interval) = match signal.source {
                Source::Proxy => (
                    self.config().proxy_cache.delay,
                    self.config().proxy_cache.min_interval,
                ),
                _ => (Duration::ZERO, Duration::ZERO),
            };
            let claim = Claim {
                key: url.path_key(),
                at: signal.at.saturating_add(delay.as_millis() as i64),
                source: signal.source as u8,
                weight: 0.0,
                gap: min_interval.as_millis() as i64,
            };
            claims.push((Outside::of(&url, 0, hop, ""), claim));
        }
        (claims, seeds)
    }
}
