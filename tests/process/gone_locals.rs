//! A pool in the destructors of a thread's thread-locals: nothing panics there, caught or not.

use crate::child::{Start, tell};
use crate::entries::{CASES, use_in_a_destructor};
use std::{panic, process};

#[test]
fn nothing_panics_in_a_destructor_of_a_thread_local() {
    for (at, case) in CASES.iter().enumerate() {
        let Some(ended) = Start::given(at).run(use_pools_in_a_destructor) else { return };
        assert_eq!(ended.told(), ["used"], "{case:?}: {ended}");
        ended.assert_code(0);
    }
}

fn use_pools_in_a_destructor(at: &str) {
    // It hears of what is caught as well; the tasks panic without it.
    panic::set_hook(Box::new(|info| {
        tell(info);
        process::abort();
    }));
    use_in_a_destructor(CASES[at.parse::<usize>().unwrap()], true);
    tell("used");
}
