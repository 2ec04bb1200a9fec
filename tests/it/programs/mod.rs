//! Ten programs, written as a user would write them. They use nothing but the public surface, wait for nothing longer
//! than [`PATIENCE`], and assert what they were written for.

mod buffers;
mod closures;
mod follow_ups;
mod letters;
mod ownership;
mod question_mark;
mod quickstart;
mod stop_on_signal;
mod typed_error;
mod wrappers;

use std::time::Duration;

/// How long a program waits for something that is certain to come, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);
