//! The kept-alive connection of one visit (N2).

/// One connection's life: keep-alive to one origin at one address. A visit owns one per parallel request; asking
/// for another origin or address through it closes the old connection and opens a new one.
#[derive(Debug, Default)]
pub struct Session {}

impl Session {
    /// A session without a connection: the first fetch opens it.
    pub fn new() -> Session {
        Session::default()
    }
}
