//! aranha
fn main() {}
