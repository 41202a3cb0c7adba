//! Tests of several modules together ([`hostile`]), and sample exchanges ([`sample`]).

mod hostile;
pub(crate) mod sample;
