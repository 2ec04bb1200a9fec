//! Processors made of processors: a wrapper for any of them, and one that is chosen at run time, as a test's fake is.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{BoxError, BuildError, Processor, TaskContext, WorkerPool, processor_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Counts what the inner processor answers.
struct Counted<P> {
    inner: P,
    failures: Arc<AtomicUsize>,
}

impl<P: Processor> Processor for Counted<P> {
    type Payload = P::Payload;
    type Output = P::Output;
    type Error = P::Error;

    fn process(
        &self,
        payload: &mut P::Payload,
        cx: &TaskContext<'_, P::Payload>,
    ) -> Result<P::Output, P::Error> {
        let answer = self.inner.process(payload, cx);
        if answer.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}

/// Refuses payloads for which the check fails, with an error type of its own.
struct Checked<P, F> {
    inner: P,
    check: F,
}

impl<P, F> Processor for Checked<P, F>
where
    P: Processor,
    P::Error: Into<BoxError>,
    F: Fn(&P::Payload) -> Result<(), &'static str> + Send + Sync + 'static,
{
    type Payload = P::Payload;
    type Output = P::Output;
    type Error = BoxError;

    fn process(
        &self,
        payload: &mut P::Payload,
        cx: &TaskContext<'_, P::Payload>,
    ) -> Result<P::Output, BoxError> {
        (self.check)(payload)?;
        self.inner.process(payload, cx).map_err(Into::into)
    }
}

#[test]
fn wrappers_nest_around_any_processor() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let failures = Arc::new(AtomicUsize::new(0));
    let parse = processor_fn(|text: &mut String, _cx| text.parse::<u8>());
    let not_empty = |text: &String| if text.is_empty() { Err("no text") } else { Ok(()) };
    let checked = Checked { inner: parse, check: not_empty };
    let pool =
        WorkerPool::builder(Counted { inner: checked, failures: failures.clone() }).workers(1).build()?;
    for text in ["1", "", "256"] {
        pool.submit(text.to_string()).into_result()?;
    }
    assert_eq!(pool.shutdown(PATIENCE).counts.succeeded, 1);
    assert_eq!(failures.load(Ordering::Relaxed), 2);
    let errors: Vec<_> = pool.dead_letters().list().iter().map(|info| info.error.to_string()).collect();
    assert_eq!(errors, ["no text", "number too large to fit in target type"]);
    Ok(())
}

#[derive(Clone, Debug, PartialEq)]
struct Sms {
    to: u64,
    text: String,
}

/// What the service needs of a gateway, whichever it is.
type Gateway = dyn Processor<Payload = Sms, Output = (), Error = String>;

/// The type of this service says nothing about the gateway.
struct Alarms {
    pool: WorkerPool<Arc<Gateway>>,
}

impl Alarms {
    fn new(gateway: Arc<Gateway>) -> Result<Self, BuildError> {
        Ok(Alarms { pool: WorkerPool::builder(gateway).workers(1).build()? })
    }

    fn raise(&self, text: &str) -> Result<(), BoxError> {
        self.pool.submit(Sms { to: 112, text: text.to_string() }).into_result()?;
        Ok(())
    }
}

/// Keeps what it was asked to send, and fails for a text that it is told.
#[derive(Default)]
struct FakeGateway {
    sent: Mutex<Vec<Sms>>,
    fails_for: Option<&'static str>,
}

impl Processor for FakeGateway {
    type Payload = Sms;
    type Output = ();
    type Error = String;

    fn process(&self, sms: &mut Sms, _cx: &TaskContext<'_, Sms>) -> Result<(), String> {
        if self.fails_for == Some(sms.text.as_str()) {
            return Err("no signal".into());
        }
        self.sent.lock().unwrap().push(sms.clone());
        Ok(())
    }
}

#[test]
fn a_service_takes_a_fake_behind_a_trait_object() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let fake = Arc::new(FakeGateway { fails_for: Some("flood"), ..FakeGateway::default() });
    let alarms = Alarms::new(fake.clone())?;
    alarms.raise("fire")?;
    alarms.raise("flood")?;
    alarms.pool.wait_idle(PATIENCE)?;
    assert_eq!(*fake.sent.lock().unwrap(), [Sms { to: 112, text: "fire".into() }]);
    assert_eq!(&*alarms.pool.dead_letters().list()[0].error, "no signal");

    drop(alarms);
    assert_eq!(Arc::strong_count(&fake), 1, "the pool has let go of its processor");
    Ok(())
}

#[test]
fn a_processor_is_tested_alone_with_a_detached_context() {
    let _watchdog = Watchdog::new();
    let fake = FakeGateway::default();
    let cx = TaskContext::detached();
    assert_eq!(fake.process(&mut Sms { to: 1, text: "hello".into() }, &cx), Ok(()));
    assert_eq!((cx.lane(), cx.attempt(), cx.is_interrupted()), ("default", 1, false));
    let gateway: &Gateway = &fake;
    assert_eq!(gateway.process(&mut Sms { to: 2, text: "again".into() }, &cx), Ok(()));
    assert_eq!(fake.sent.lock().unwrap().len(), 2);
}
