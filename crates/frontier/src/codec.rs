//! Placeholder until the blocks are written.
