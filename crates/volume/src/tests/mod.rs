//! Tests of several modules together ([`hostile`], [`folders`]), and sample exchanges ([`sample`]).

mod folders;
mod hostile;
pub(crate) mod sample;
