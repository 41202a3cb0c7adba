//! The questions under way: many askers for one name are one question.
//!
//! Whoever comes first asks; when that one is cancelled, another who waits asks in its place.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::sync::OnceCell;

use super::resolver::{Outcome, lock};

/// By name.
#[derive(Default)]
pub(super) struct Questions(Mutex<HashMap<Box<str>, Arc<OnceCell<Outcome>>>>);

/// A place in the queue for one name's answer; the last to leave takes the name off the list.
pub(super) struct Question {
    questions: Arc<Questions>,
    name: Box<str>,
    pub(super) cell: Arc<OnceCell<Outcome>>,
}

impl Question {
    /// The question for a name, under way or new.
    pub(super) fn join(questions: &Arc<Questions>, name: &str) -> Question {
        let mut list = lock(&questions.0);
        let cell = match list.get(name) {
            Some(cell) => cell.clone(),
            None => list.entry(name.into()).or_default().clone(),
        };
        Question::new(questions, name, cell)
    }

    /// The question for a name if it is not under way already.
    pub(super) fn begin(questions: &Arc<Questions>, name: &str) -> Option<Question> {
        let mut list = lock(&questions.0);
        if list.contains_key(name) {
            return None;
        }
        let cell = list.entry(name.into()).or_default().clone();
        Some(Question::new(questions, name, cell))
    }

    fn new(questions: &Arc<Questions>, name: &str, cell: Arc<OnceCell<Outcome>>) -> Question {
        Question {
            questions: questions.clone(),
            name: name.into(),
            cell,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Questions {
    pub(super) fn contains(&self, name: &str) -> bool {
        lock(&self.0).contains_key(name)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let mut list = lock(&self.questions.0);
        // Two: the list's and ours. Others are only added under this lock, and leave under it: of two who leave at once
        // neither would be the last otherwise.
        let cell = std::mem::take(&mut self.cell);
        if Arc::strong_count(&cell) <= 2 {
            list.remove(&self.name);
        }
        drop(cell);
    }
}
