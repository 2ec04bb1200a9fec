//! Panics that are meant, in every form; and the hook that keeps quiet about them only.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};

use fastrand::Rng;

use crate::findings;
use crate::live::{Kind, Live};

/// How the messages of planned panics begin.
const MARK: &str = "planned";

/// A panic value that is no text.
struct Planned;

/// A panic value whose drop panics.
struct Bomb {
    _live: Live,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Planned);
    }
}

/// Panics, in one of the ways there are.
pub(crate) fn blow(rng: &mut Rng) -> ! {
    match rng.u32(..5) {
        0 => panic!("planned"),
        1 => panic!("planned, number {}", rng.u32(..)),
        2 => panic_any(Planned),
        3 => panic_any(Bomb { _live: Live::new(Kind::PanicValue) }),
        _ => resume_unwind(Box::new(Planned)),
    }
}

/// Runs `f` and keeps a planned panic from getting out. One that was not planned has been noted by the hook.
pub(crate) fn contained<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(answer) => Some(answer),
        Err(value) => {
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
                // It is a `Planned`: its drop does nothing.
                drop(second);
            }
            None
        }
    }
}

/// Drops something of which the drop may panic.
pub(crate) fn discard<T>(value: T) {
    let _ = contained(|| drop(value));
}

/// Has unplanned panics noted as findings, with their place.
pub(crate) fn install_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_planned(info.payload()) {
            let place = info.location().map_or_else(|| "somewhere".to_string(), ToString::to_string);
            findings::other(format!("an unplanned panic at {place}"));
            default(info);
        }
    }));
}

fn is_planned(value: &(dyn Any + Send)) -> bool {
    let text =
        value.downcast_ref::<&str>().copied().or_else(|| value.downcast_ref::<String>().map(String::as_str));
    match text {
        Some(text) => text.starts_with(MARK),
        None => value.is::<Planned>() || value.is::<Bomb>(),
    }
}
