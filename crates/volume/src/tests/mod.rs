//! Tests of several modules together ([`hostile`], [`folders`], [`stores`], [`forget`]), and sample exchanges ([`sample`]).

mod folders;
mod forget;
mod hostile;
mod proxy;
#[path = "../../tests/s3_server/mod.rs"]
mod s3_server;
pub(crate) mod sample;
mod stores;
