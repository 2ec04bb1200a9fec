//! What must not compile, each beside a twin that does, so that nothing but the flaw can be what the compiler refuses.
//!
//! # A payload that cannot be sent
//!
//! ```compile_fail,E0277
//! use dockhand::{WorkerPool, processor_fn};
//! use std::rc::Rc;
//! let pool = WorkerPool::builder(processor_fn(|_: &mut Rc<u32>, _cx| Ok::<(), String>(())));
//! ```
//!
//! ```
//! use dockhand::{WorkerPool, processor_fn};
//! use std::sync::Arc;
//! let pool = WorkerPool::builder(processor_fn(|_: &mut Arc<u32>, _cx| Ok::<(), String>(())));
//! ```
//!
//! # A payload that borrows
//!
//! ```compile_fail,E0597
//! use dockhand::{WorkerPool, processor_fn};
//! let pool = WorkerPool::builder(processor_fn(|_: &mut &'static str, _cx| Ok::<(), String>(()))).build()?;
//! let text = String::from("on this stack");
//! pool.submit(&text).into_result()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use dockhand::{WorkerPool, processor_fn};
//! let pool = WorkerPool::builder(processor_fn(|_: &mut &'static str, _cx| Ok::<(), String>(()))).build()?;
//! let text = "in the program";
//! pool.submit(&text).into_result()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A processor that cannot be shared between workers
//!
//! ```compile_fail,E0277
//! use dockhand::{Processor, TaskContext};
//! use std::cell::Cell;
//! struct Counting(Cell<u32>);
//! impl Processor for Counting {
//!     type Payload = u32;
//!     type Output = ();
//!     type Error = String;
//!     fn process(&self, _: &mut u32, _: &TaskContext<'_, u32>) -> Result<(), String> {
//!         Ok(())
//!     }
//! }
//! ```
//!
//! ```
//! use dockhand::{Processor, TaskContext};
//! use std::sync::atomic::AtomicU32;
//! struct Counting(AtomicU32);
//! impl Processor for Counting {
//!     type Payload = u32;
//!     type Output = ();
//!     type Error = String;
//!     fn process(&self, _: &mut u32, _: &TaskContext<'_, u32>) -> Result<(), String> {
//!         Ok(())
//!     }
//! }
//! ```
//!
//! # An error that cannot be shared
//!
//! ```compile_fail,E0277
//! use dockhand::{WorkerPool, processor_fn};
//! let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), Box<dyn std::error::Error>>("no".into())));
//! ```
//!
//! ```
//! use dockhand::{BoxError, WorkerPool, processor_fn};
//! let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), BoxError>("no".into())));
//! ```
//!
//! # A pool is owned once
//!
//! ```compile_fail,E0599
//! use dockhand::{Closures, WorkerPool};
//! let pool = WorkerPool::builder(Closures).build()?;
//! let second = pool.clone();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use dockhand::{Closures, WorkerPool};
//! let pool = WorkerPool::builder(Closures).build()?;
//! let second = pool.submitter().clone();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A context does not leave its attempt
//!
//! ```compile_fail,E0521
//! use dockhand::{Processor, TaskContext};
//! struct Detaching;
//! impl Processor for Detaching {
//!     type Payload = u32;
//!     type Output = ();
//!     type Error = String;
//!     fn process(&self, _: &mut u32, cx: &TaskContext<'_, u32>) -> Result<(), String> {
//!         std::thread::spawn(move || cx.is_interrupted());
//!         Ok(())
//!     }
//! }
//! ```
//!
//! ```
//! use dockhand::{Processor, TaskContext};
//! struct Scoped;
//! impl Processor for Scoped {
//!     type Payload = u32;
//!     type Output = ();
//!     type Error = String;
//!     fn process(&self, _: &mut u32, cx: &TaskContext<'_, u32>) -> Result<(), String> {
//!         std::thread::scope(|scope| drop(scope.spawn(move || cx.is_interrupted())));
//!         Ok(())
//!     }
//! }
//! ```
//!
//! # A submit whose answer is not looked at
//!
//! The lint has no code, so the twin is what shows that it is the flaw.
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use dockhand::{Closures, WorkerPool};
//! let pool = WorkerPool::builder(Closures).build()?;
//! pool.execute(|| ());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! #![deny(unused_must_use)]
//! use dockhand::{Closures, WorkerPool};
//! let pool = WorkerPool::builder(Closures).build()?;
//! let _ = pool.execute(|| ());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A shutdown whose report is not looked at
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use dockhand::{Closures, WorkerPool};
//! let pool = WorkerPool::builder(Closures).build()?;
//! pool.shutdown(std::time::Duration::MAX);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! #![deny(unused_must_use)]
//! use dockhand::{Closures, WorkerPool};
//! let pool = WorkerPool::builder(Closures).build()?;
//! assert!(pool.shutdown(std::time::Duration::MAX).is_clean());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A payload is used after it was offered
//!
//! ```compile_fail,E0382
//! use dockhand::{WorkerPool, processor_fn};
//! let pool = WorkerPool::builder(processor_fn(|_: &mut String, _cx| Ok::<(), String>(()))).build()?;
//! let text = String::from("cargo");
//! let answer = pool.submit(text);
//! println!("{text}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use dockhand::{WorkerPool, processor_fn};
//! let pool = WorkerPool::builder(processor_fn(|_: &mut String, _cx| Ok::<(), String>(()))).build()?;
//! let text = String::from("cargo");
//! let answer = pool.submit(text);
//! if let Some(text) = answer.into_payload() {
//!     println!("{text}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A closure is not a processor by itself
//!
//! ```compile_fail,E0277
//! use dockhand::{TaskContext, WorkerPool};
//! let pool = WorkerPool::builder(|_: &mut String, _: &TaskContext<'_, String>| Ok::<(), String>(()));
//! ```
//!
//! ```
//! use dockhand::{TaskContext, WorkerPool, processor_fn};
//! let pool = WorkerPool::builder(processor_fn(|_: &mut String, _: &TaskContext<'_, String>| Ok::<(), String>(())));
//! ```
//!
//! # The answers of a submit are four, and later versions add none
//!
//! ```compile_fail,E0004
//! use dockhand::SubmitResult;
//! fn was_taken(answer: SubmitResult<u32>) -> bool {
//!     match answer {
//!         SubmitResult::Accepted(_) | SubmitResult::CallerRun(_) => true,
//!         SubmitResult::Rejected(_) => false,
//!     }
//! }
//! ```
//!
//! ```
//! use dockhand::SubmitResult;
//! use dockhand::letter::LetterFate;
//! fn was_taken(answer: SubmitResult<u32>) -> bool {
//!     match answer {
//!         SubmitResult::Accepted(_) | SubmitResult::CallerRun(_) => true,
//!         SubmitResult::Rejected(_) | SubmitResult::Dropped(_) => false,
//!     }
//! }
//! fn is_kept(fate: LetterFate) -> bool {
//!     match fate {
//!         LetterFate::Keep => true,
//!         LetterFate::Discard => false,
//!     }
//! }
//! ```
//!
//! # Other enums and structs may grow
//!
//! ```compile_fail,E0004
//! use dockhand::RetryDecision;
//! fn is_last(decision: RetryDecision) -> bool {
//!     match decision {
//!         RetryDecision::Retry | RetryDecision::RetryAfter(_) => false,
//!         RetryDecision::GiveUp => true,
//!     }
//! }
//! ```
//!
//! ```
//! use dockhand::RetryDecision;
//! fn is_last(decision: RetryDecision) -> bool {
//!     match decision {
//!         RetryDecision::Retry | RetryDecision::RetryAfter(_) => false,
//!         _ => true,
//!     }
//! }
//! ```
//!
//! ```compile_fail,E0638
//! use dockhand::Shed;
//! fn payload(shed: Shed<u32>) -> u32 {
//!     let Shed { task: _, outcome: _, was: _, last_error: _, payload } = shed;
//!     payload
//! }
//! ```
//!
//! ```
//! use dockhand::Shed;
//! fn payload(shed: Shed<u32>) -> u32 {
//!     let Shed { payload, .. } = shed;
//!     payload
//! }
//! ```
