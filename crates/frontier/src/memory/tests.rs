//! Runs the suite on the engine in memory.

use std::time::Duration;

use super::*;
use crate::suite::EngineFactory;
use crate::suite::model::model;
use crate::suite::suite;

impl EngineFactory for MemoryFrontier {
    type Engine = MemoryNode;
    fn open(&self, options: Options) -> MemoryNode {
        let settings = NodeSettings {
            node: options.node_name(),
            pause: Duration::ZERO,
            ..NodeSettings::default()
        };
        self.open_node(0, options, settings).expect("opens")
    }

    fn view(&self) -> View {
        MemoryFrontier::view(self).expect("opens")
    }
}

suite!(MemoryFrontier::new());
model!(MemoryFrontier::new(), 24);
