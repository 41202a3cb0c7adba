//! Finds the features of a text: an Aho-Corasick automaton in a double array (Aho and Corasick 1975, Aoe 1989).

/// No state, or no feature.
const NONE: u32 = u32::MAX;

/// Reports the longest feature that ends at each byte of a text.
pub(super) struct Automaton {
    states: Vec<State>,
}

/// A state stands for a string: the longest end of the text so far that is the beginning of a feature. State 0 stands
/// for the empty string.
#[derive(Clone, Copy)]
struct State {
    /// The string of this state followed by `byte` is the string of state `base + byte`, provided that this state is
    /// the parent of that state.
    base: u32,
    parent: u32,
    /// The state of the longest proper end of the string that is the string of a state.
    failure: u32,
    /// The longest feature at the end of the string.
    feature: u32,
}

impl Automaton {
    /// Makes an automaton from its four arrays, which have the same length. `None` if a number is out of range.
    pub(super) fn new(arrays: [&[u32]; 4], features: usize) -> Option<Automaton> {
        let [bases, parents, failures, found] = arrays;
        let length = bases.len();
        let mut states = Vec::with_capacity(length);
        for (index, &base) in bases.iter().enumerate() {
            let state = State {
                base,
                parent: *parents.get(index)?,
                failure: *failures.get(index)?,
                feature: *found.get(index)?,
            };
            let is_valid = base as usize + 256 <= length
                && (state.failure as usize) < length
                && (state.feature == NONE || (state.feature as usize) < features);
            if !is_valid {
                return None;
            }
            states.push(state);
        }
        (length > 0).then_some(Automaton { states })
    }

    /// Calls `report` with the longest feature that ends at each byte, if there is one.
    pub(super) fn find(&self, text: &[u8], mut report: impl FnMut(u32)) {
        let mut current = 0;
        for &byte in text {
            current = self.after(current, byte);
            let feature = self.states[current as usize].feature;
            if feature != NONE {
                report(feature);
            }
        }
    }

    /// The state after `byte`. The number of steps is bounded by the length of the string of `state`, because each
    /// failure leads to a shorter string.
    fn after(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            let entry = self.states[state as usize];
            let next = entry.base + u32::from(byte);
            if self.states[next as usize].parent == state {
                return next;
            }
            if state == 0 {
                return 0;
            }
            state = entry.failure;
        }
    }
}
