//! Tests that concern several modules, and the exchanges that tests write.

mod hostile;
pub(crate) mod sample;
