//! What waits in a delay queue, in the order of (due, sequence).
//!
//! The heap moves keys of 24 bytes; the items, which are several times as large, lie still in slots until they are taken.
//! A slot that is free names the next free one, so the last that was left is the first that is used again, and there are
//! never more slots than there were entries at a time. Both vectors keep their memory.

use crate::clock::Moment;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::replace;

/// Compared in the order of the fields; no two have the same sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) due: Moment,
    sequence: u64,
    slot: usize,
}

enum Slot<J> {
    Taken(J),
    Free { next: Option<usize> },
}

pub(super) struct Entries<J> {
    keys: BinaryHeap<Reverse<Key>>,
    slots: Vec<Slot<J>>,
    free: Option<usize>,
    sequence: u64,
}

impl<J> Slot<J> {
    fn item(&self) -> Option<&J> {
        match self {
            Slot::Taken(item) => Some(item),
            Slot::Free { .. } => None,
        }
    }
}

impl<J> Entries<J> {
    pub(super) fn new() -> Self {
        Entries { keys: BinaryHeap::new(), slots: Vec::new(), free: None, sequence: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Takes an item in, behind those that are due at the same time.
    pub(super) fn push(&mut self, due: Moment, item: J) -> Key {
        let slot = put(&mut self.slots, &mut self.free, item);
        let key = Key { due, sequence: self.sequence, slot };
        self.sequence += 1;
        self.keys.push(Reverse(key));
        key
    }

    pub(super) fn peek(&self) -> Option<Key> {
        self.keys.peek().map(|Reverse(key)| *key)
    }

    pub(super) fn pop(&mut self) -> Option<(Moment, J)> {
        let Reverse(key) = self.keys.pop()?;
        Some((key.due, take(&mut self.slots, &mut self.free, key.slot)))
    }

    pub(super) fn item(&self, key: Key) -> Option<&J> {
        self.slots[key.slot].item()
    }

    /// How many are due, counted up to `most`. Costs what it counts: these are taken off the heap and pushed again.
    pub(super) fn due_by(&mut self, now: Moment, most: usize) -> usize {
        let mut due = Vec::new();
        while due.len() < most && self.peek().is_some_and(|first| first.due <= now) {
            due.extend(self.keys.pop());
        }
        let count = due.len();
        self.keys.extend(due);
        count
    }

    /// In no order.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.keys.iter().map(|Reverse(key)| *key)
    }

    /// In no order.
    pub(super) fn items(&self) -> impl Iterator<Item = &J> {
        self.slots.iter().filter_map(Slot::item)
    }

    /// Takes all of those out, in no order.
    pub(super) fn take_out(&mut self, is_out: impl Fn(&J) -> bool) -> Vec<J> {
        let Entries { keys, slots, free, .. } = self;
        let mut out = Vec::new();
        keys.retain(|Reverse(key)| {
            let leaves = slots[key.slot].item().is_some_and(&is_out);
            if leaves {
                out.push(take(slots, free, key.slot));
            }
            !leaves
        });
        out
    }

    /// Earliest first.
    pub(super) fn into_sorted(self) -> Vec<(Moment, J)> {
        let Entries { keys, mut slots, mut free, .. } = self;
        let keys = keys.into_sorted_vec().into_iter().rev();
        keys.map(|Reverse(key)| (key.due, take(&mut slots, &mut free, key.slot))).collect()
    }

    #[cfg(all(test, not(any(dockhand_loom, dockhand_shuttle))))]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }
}

/// What is written over in `put` and `take` is a free slot or is given back: no item is dropped here.
fn put<J>(slots: &mut Vec<Slot<J>>, free: &mut Option<usize>, item: J) -> usize {
    let Some(slot) = *free else {
        slots.push(Slot::Taken(item));
        return slots.len() - 1;
    };
    if let Slot::Free { next } = replace(&mut slots[slot], Slot::Taken(item)) {
        *free = next;
    }
    slot
}

fn take<J>(slots: &mut [Slot<J>], free: &mut Option<usize>, slot: usize) -> J {
    let left = replace(&mut slots[slot], Slot::Free { next: *free });
    let Slot::Taken(item) = left else { unreachable!("each key has a slot of its own") };
    *free = Some(slot);
    item
}
