//! aranha-engine
