//! Groups of check-ins that wait while the frontier is away. Their contents are in the [`Spool`].
//!
//! If the frontier has certainly not stored a group, the check-ins of the group are changed so that they ask for no
//! pages. As soon as the group is on the disk, its visits get a reply and continue. A visit that needs more pages ends,
//! and its site is released when its check-in is sent. If the connection was lost while a group was committed, the
//! frontier may have given pages to the visits. Then they wait for the reply of the frontier.

use std::sync::Arc;
use std::time::Duration;

use aranha_frontier::{
    CheckIn, CheckedIn, ErrorClass, Fence, FrontierError, LeaseLost, Seed, Then,
};
use tokio::time::Instant;

use super::shared_frontier::{FIRST_WAIT, LONGEST_WAIT, MAX_STOPPING};
use super::spool::Spool;
use super::unrecorded::Unrecorded;
use super::{CommitError, Committer, PackedCheckIn, Replies, unpack};

/// The results of a group.
pub(super) type Results = Vec<Result<CheckedIn, LeaseLost>>;

/// The part of a [`Committer`] that a shared frontier needs.
pub(crate) struct WaitingGroups {
    pub(crate) spool: Spool,
    pub(crate) fence: Arc<Fence>,
    pub(crate) unrecorded: Unrecorded,
    /// The number of the newest group.
    pub(crate) newest: u64,
    /// The visits that wait for the oldest group, if it is not known whether the frontier has stored this group.
    replies: Replies,
    /// When the oldest group is sent again.
    pub(super) retry_at: Option<Instant>,
    wait: Duration,
    /// The first time at which a group could not be sent after the request to stop.
    stopping: Option<Instant>,
}

impl WaitingGroups {
    /// `newest`: the number of the newest group that an earlier process of this collection wrote.
    pub(crate) fn new(
        spool: Spool,
        fence: Arc<Fence>,
        unrecorded: Unrecorded,
        newest: u64,
    ) -> Self {
        Self {
            spool,
            fence,
            unrecorded,
            newest,
            replies: Vec::new(),
            retry_at: None,
            wait: FIRST_WAIT,
            stopping: None,
        }
    }
}

/// Changes a check-in so that it asks for no pages. Returns the reply that the frontier will give to it. The frontier
/// must not have stored the check-in yet.
fn assume(check_in: &mut CheckIn) -> CheckedIn {
    let mut reply = CheckedIn::default();
    match &mut check_in.then {
        Then::Keep { want } => *want = 0,
        Then::Release { .. } | Then::Block => reply.released = true,
    }
    reply
}

impl Committer {
    /// Whether groups wait in the spool.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting
            .as_ref()
            .is_some_and(|waiting| waiting.retry_at.is_some())
    }

    /// Stores a group in a shared frontier, or keeps it in the spool while the frontier is away.
    pub(super) async fn store_or_keep(
        &mut self,
        mut unsent: Vec<Seed>,
        mut check_ins: Vec<PackedCheckIn>,
        replies: Replies,
    ) -> Result<bool, CommitError> {
        let Some(waiting) = &mut self.waiting else {
            unreachable!("only a shared frontier has groups that wait");
        };
        waiting.newest += 1;
        let (number, now, budget) = (waiting.newest, self.clock.now(), self.tidy_budget);
        if waiting.spool.is_empty() {
            let seeds = std::mem::take(&mut unsent);
            let work = move |frontier: &mut dyn aranha_frontier::Frontier| {
                let mut store = || {
                    if !seeds.is_empty() {
                        frontier.seed(now, &seeds)?;
                    }
                    let mut unpacked = check_ins.iter().cloned().map(unpack);
                    let results = frontier.check_in_group(now, number, &mut unpacked)?;
                    match frontier.tidy(now, budget) {
                        Ok(untidy) => Ok((results, untidy)),
                        // The check-ins are stored, although the tidying failed.
                        Err(error) if error.class() == ErrorClass::MayPass => Ok((results, true)),
                        Err(error) => Err(error),
                    }
                };
                let result = store();
                (result, seeds, check_ins)
            };
            let (result, seeds, kept) = self.frontier.call(work).await;
            check_ins = kept;
            let is_unanswered = matches!(&result, Err(FrontierError::Unanswered { .. }));
            if let Some((results, untidy)) = self.frontier.observe(result)? {
                let lost = results.iter().zip(&check_ins);
                let lost = lost.filter_map(|(result, packed)| result.is_err().then_some(&packed.0));
                self.list_unrecorded(lost)?;
                self.answer(replies, results)?;
                return Ok(untidy);
            }
            unsent = seeds;
            if is_unanswered {
                self.keep(number, unsent, check_ins).await?;
                if let Some(waiting) = &mut self.waiting {
                    waiting.replies = replies;
                }
                return Ok(true);
            }
        }
        let results = check_ins.iter_mut().map(|packed| Ok(assume(&mut packed.0)));
        let results = results.collect();
        self.keep(number, unsent, check_ins).await?;
        self.answer(replies, results)?;
        Ok(true)
    }

    /// Appends a group to the spool.
    async fn keep(
        &mut self,
        number: u64,
        seeds: Vec<Seed>,
        check_ins: Vec<PackedCheckIn>,
    ) -> Result<(), CommitError> {
        let Some(mut waiting) = self.waiting.take() else {
            return Ok(());
        };
        let write = move || {
            let node = waiting.fence.term().node;
            let unpacked = check_ins.into_iter().map(unpack);
            let written = waiting.spool.append(node, number, &seeds, unpacked);
            (waiting, written)
        };
        let (mut waiting, written) = self.frontier.run_blocking(write).await;
        let retry_at = Instant::now() + waiting.wait;
        waiting.retry_at.get_or_insert(retry_at);
        self.waiting = Some(waiting);
        // The pages of these check-ins have their bytes, and the crawl log has their lines.
        if let Some(log) = &mut self.log {
            log.write()?;
        }
        written.map_err(CommitError::Spool)
    }

    /// Sends the oldest group in the spool again.
    pub(super) async fn send_waiting(&mut self) -> Result<bool, CommitError> {
        let Some(waiting) = &mut self.waiting else {
            return Ok(false);
        };
        let Some(group) = waiting.spool.first().map_err(CommitError::Spool)? else {
            waiting.retry_at = None;
            return Ok(true);
        };
        let now = self.clock.now();
        let work = move |frontier: &mut dyn aranha_frontier::Frontier| {
            let mut store = || {
                if !group.seeds.is_empty() {
                    frontier.seed(now, &group.seeds)?;
                }
                let mut check_ins = group.check_ins.iter().cloned();
                frontier.check_in_group(now, group.number, &mut check_ins)
            };
            (store(), group.check_ins)
        };
        let (result, check_ins) = self.frontier.call(work).await;
        let problem = result.as_ref().err().map(ToString::to_string);
        let observed = self.frontier.observe(result)?;
        let Some(waiting) = &mut self.waiting else {
            return Ok(false);
        };
        let Some(results) = observed else {
            waiting.retry_at = Some(Instant::now() + waiting.wait);
            waiting.wait = LONGEST_WAIT.min(waiting.wait * 2);
            if self.stop.asked() {
                let since = *waiting.stopping.get_or_insert_with(Instant::now);
                if since.elapsed() >= MAX_STOPPING {
                    return Err(CommitError::StillAway(problem.unwrap_or_default()));
                }
            }
            return Ok(true);
        };
        waiting.spool.remove_first().map_err(CommitError::Spool)?;
        let replies = std::mem::take(&mut waiting.replies);
        waiting.wait = FIRST_WAIT;
        let is_last = waiting.spool.is_empty();
        waiting.retry_at = (!is_last).then(Instant::now);
        let lost = results.iter().zip(&check_ins);
        let lost = lost.filter_map(|(result, check_in)| result.is_err().then_some(check_in));
        self.list_unrecorded(lost)?;
        self.answer(replies, results)?;
        Ok(true)
    }

    /// Adds the pages of check-ins whose lease is lost to `unrecorded.jsonl`.
    fn list_unrecorded<'a>(
        &self,
        lost: impl Iterator<Item = &'a CheckIn>,
    ) -> Result<(), CommitError> {
        match &self.waiting {
            Some(waiting) => waiting.unrecorded.add(lost).map_err(CommitError::Spool),
            None => Ok(()),
        }
    }

    /// After all visits have ended, sends the groups that still wait.
    pub(super) async fn send_all_waiting(&mut self) -> Result<(), CommitError> {
        while let Some(at) = self.waiting.as_ref().and_then(|waiting| waiting.retry_at) {
            tokio::time::sleep_until(at).await;
            self.send_waiting().await?;
        }
        Ok(())
    }
}
