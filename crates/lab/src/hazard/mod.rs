//! Hostile sites, one small file each.

/// Which hostile sites a plan can have; each is a site of its own, named after its hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hazard {
    /// A calendar with a next month for ever: `calendar.lab`.
    Calendar,
    /// One byte at a time: `drip.lab`.
    Drip,
    /// Accepts the request and says nothing: `silence.lab`.
    Silence,
    /// A body that never ends: `endless.lab`.
    Endless,
    /// Redirects in a circle: `circle.lab`.
    Circle,
    /// A Content-Length that is not the body's length: `length.lab`.
    Length,
}
