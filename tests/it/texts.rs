//! The texts of errors and panics are bounded wherever the library keeps them; the values are the user's.

use crate::support::{LONG, Watchdog, build};
use dockhand::letter::LetterFate;
use dockhand::{
    Cause, Event, PoolBuilder, ProcessorFn, RetryPolicy, TaskContext, TaskError, WorkerPool, processor_fn,
};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is kept of a text, in bytes.
const KEPT: usize = 4096;

/// An error that is shown piece by piece.
#[derive(Clone, Debug)]
struct Words {
    pieces: Vec<&'static str>,
    /// Its `Display` fails at the end.
    fails: bool,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| f.write_str(piece))?;
        if self.fails { Err(fmt::Error) } else { Ok(()) }
    }
}

/// How a task fails.
#[derive(Clone, Debug)]
enum Fails {
    Error(Words),
    /// With a message that was made for it.
    Panic(String),
    /// With a message that is a part of the program.
    PanicFixed(&'static str),
}

type Fail = ProcessorFn<Fails, (), Words>;

fn fail(fails: &mut Fails, _: &TaskContext<'_, Fails>) -> Result<(), Words> {
    match fails {
        Fails::Error(words) => Err(words.clone()),
        Fails::Panic(message) => std::panic::resume_unwind(Box::new(message.clone())),
        Fails::PanicFixed(message) => std::panic::resume_unwind(Box::new(*message)),
    }
}

fn builder() -> PoolBuilder<Fail> {
    WorkerPool::builder(processor_fn(fail)).workers(1)
}

fn words(pieces: impl IntoIterator<Item = &'static str>) -> Fails {
    Fails::Error(Words { pieces: pieces.into_iter().collect(), fails: false })
}

fn long(unit: &str, times: usize) -> &'static str {
    unit.repeat(times).leak()
}

/// What is kept of a text.
fn kept(text: &str) -> String {
    if text.len() <= KEPT {
        return text.to_string();
    }
    let end = (0..=KEPT).rev().find(|end| text.is_char_boundary(*end)).unwrap();
    format!("{}… ({} bytes)", &text[..end], text.len())
}

fn shown(fails: &Fails) -> String {
    match fails {
        Fails::Error(words) => words.pieces.concat(),
        Fails::Panic(message) => message.clone(),
        Fails::PanicFixed(message) => (*message).to_string(),
    }
}

/// What a letter, or what is shed, says of it.
fn said(fails: &Fails) -> String {
    let text = kept(&shown(fails));
    if matches!(fails, Fails::Error(_)) { text } else { format!("panicked: {text}") }
}

/// Texts around the limit, whole and in pieces, of characters of one to four bytes.
fn all() -> Vec<Fails> {
    let mut all = vec![words([]), words(["short"]), words([long("é", KEPT), "", "x"])];
    for unit in ["a", "é", "€", "🦀"] {
        for before in ["", "a", "ab", "abc"] {
            for over in [0, 1, KEPT] {
                let text = long(unit, (KEPT - before.len()) / unit.len() + over);
                all.push(words([before, text]));
                all.push(words([before].into_iter().chain(text.split_inclusive(unit))));
                all.push(Fails::Panic(format!("{before}{text}")));
                all.push(Fails::PanicFixed(format!("{before}{text}").leak()));
            }
        }
    }
    all
}

#[test]
fn a_letter_has_the_first_4096_bytes_of_a_text_and_its_length() {
    let _dog = Watchdog::new();
    let pool = build(builder());
    for fails in all() {
        let id = pool.submit(fails.clone()).into_result().unwrap();
        pool.wait_idle(LONG).unwrap();
        let letter = pool.dead_letters().take(id).unwrap();
        assert_eq!(*letter.info.error, said(&fails));
        match letter.failure.cause() {
            Cause::Error(error) => assert_eq!(error.to_string(), shown(&fails), "the value is as it was"),
            Cause::Panicked(message) => assert_eq!(message, kept(&shown(&fails))),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(pool.metrics().hook_panics, 0);
}

fn three() -> [Fails; 3] {
    let text = long("é", 1 << 19);
    [words([text]), Fails::Panic(text.to_string()), Fails::PanicFixed(text)]
}

/// What hooks, handles and the report are given.
#[test]
fn a_text_is_cut_wherever_it_is_given() {
    let _dog = Watchdog::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let [hears, asks, sheds] = [(); 3].map(|()| Arc::clone(&told));
    let of_event = move |event: &Event<'_>| {
        if let Event::AttemptFailed { cause: Cause::Panicked(message), .. } = event {
            hears.lock().unwrap().push(("event", format!("panicked: {message}")));
        }
    };
    let builder = builder()
        .dead_letter_capacity(0)
        .on_event(of_event)
        .dead_letter_sink(move |letter| {
            asks.lock().unwrap().push(("sink", letter.info.error.to_string()));
            LetterFate::Keep
        })
        .on_shed(move |shed| {
            sheds.lock().unwrap().push(("shed", shed.last_error.unwrap().to_string()));
        });
    let pool = build(builder);
    for fails in three() {
        let said = said(&fails);
        let is_panic = !matches!(fails, Fails::Error(_));
        let Err(TaskError::Failed(failure)) = pool.submitter().submit_tracked(fails).unwrap().wait() else {
            panic!("it fails")
        };
        let told = std::mem::take(&mut *told.lock().unwrap());
        let places = if is_panic { &["event", "sink", "shed"][..] } else { &["sink", "shed"] };
        assert_eq!(told, places.iter().map(|place| (*place, said.clone())).collect::<Vec<_>>());
        assert!(!is_panic || failure.to_string() == said);
    }
}

#[test]
fn a_report_has_as_much_of_a_text_as_a_letter() {
    let _dog = Watchdog::new();
    let hour = Duration::from_secs(3600);
    let retry = RetryPolicy::fixed(hour).max_delay(hour);
    let pool = build(builder().retry(retry).classify(|_| dockhand::RetryDecision::Retry));
    let three = three();
    for fails in &three {
        pool.submit(fails.clone()).into_result().unwrap();
    }
    crate::support::eventually("they back off", || pool.metrics().counts.delayed == 3);
    let report = pool.shutdown(Duration::ZERO);
    assert_eq!(report.abandoned.len(), 3);
    for shed in report.abandoned {
        assert_eq!(*shed.last_error.unwrap(), said(&shed.payload));
    }
}

/// An error in a `Display` ends the text; it is no panic.
#[test]
fn a_display_that_fails_leaves_what_it_wrote() {
    let _dog = Watchdog::new();
    let pool = build(builder());
    let fails = Fails::Error(Words { pieces: vec!["half of", " it"], fails: true });
    let id = pool.submit(fails).into_result().unwrap();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(&*pool.dead_letters().take(id).unwrap().info.error, "half of it");
    assert_eq!(pool.metrics().hook_panics, 0);
}
