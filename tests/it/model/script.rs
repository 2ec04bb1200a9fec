//! What is done to a pool. Times are in ticks, which are long on a clock that is moved by hand and short on a real one.

use super::settings::Settings;
use dockhand::OverloadPolicy;

/// Lanes, in the order of their priority. The last one is not declared.
pub(super) const LANES: [&str; 3] = ["first", "second", "default"];

#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) settings: Settings,
    pub(super) before: Vec<Act>,
    /// Done by another thread while the pool ends, or after its end has begun where there are no threads.
    pub(super) beside: Vec<Act>,
    /// What hooks do, one each time that one is called.
    pub(super) reactions: Vec<Reaction>,
    pub(super) end: End,
}

/// Done from outside, by a task, or by a hook.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Offer(Offer),
    Batch {
        lane: usize,
        overload: Option<OverloadPolicy>,
        plans: Vec<Plan>,
    },
    Cancel(usize),
    Wait(usize, u64),
    /// Drops a handle, which cancels if asked.
    Forget(usize, bool),
    Limit(usize, usize),
    WaitIdle(u64),
    Look,
    Requeue,
    DrainLetters,
    TakeAndPutBack,
    Close,
    Shutdown(Window),
    /// Drops the pool's last owner, if it was left in the world.
    LetGo,
    /// These have an effect only where there are no threads, and none from inside.
    RunOne,
    RunAll,
    Advance(u64),
    AdvanceToDue,
    /// To a nanosecond before something is due.
    AlmostDue,
}

#[derive(Clone, Debug)]
pub(super) enum Reaction {
    Nothing,
    Panic,
    /// With a value whose drop panics too.
    Bomb,
    Do(Act),
}

#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) lane: usize,
    pub(super) form: Form,
    pub(super) overload: Option<OverloadPolicy>,
    pub(super) options: Options,
    pub(super) plan: Plan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    With,
    Timeout(u64),
    Tracked,
    TrackedWith,
}

impl Form {
    pub(super) fn has_options(self) -> bool {
        matches!(self, Form::With | Form::TrackedWith)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    pub(super) delay: Option<u64>,
    pub(super) ttl: Option<u64>,
    /// The time to live is given as a deadline.
    pub(super) as_deadline: bool,
    pub(super) key: Option<u8>,
}

/// What a payload does in its attempts: one step each, the last one again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) on_drop: OnDrop,
    pub(super) error: Trouble,
    pub(super) output: Trouble,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Ok,
    Fail,
    Panic,
    Bomb,
    /// Works for so long, then succeeds unless it is interrupted.
    Work(u64),
    /// Submits by its context, then succeeds.
    Follow(Box<Offer>),
    Do(Box<Act>),
}

/// What happens when the pool drops a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OnDrop {
    #[default]
    Nothing,
    Panic,
    /// Whatever a hook would do.
    React,
}

/// What is wrong with an error or an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Trouble {
    #[default]
    Nothing,
    DropPanics,
    DisplayPanics,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Shutdown(Window),
    /// A second one cuts the first one short.
    TwoShutdowns(Window),
    /// By a task, before the one from outside.
    FromInside(Window),
    Drop,
    /// By a task that holds the pool's last owner; as `Drop` where there are no threads.
    DropInside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Ticks(u64),
    Long,
}
