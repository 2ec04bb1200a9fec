//! Uses pools in destructors of thread-locals, in a program that ends at any panic: `cargo run --profile abort -p aborts`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic")]

#[path = "../../../tests/process/at_end.rs"]
mod at_end;
#[path = "../../../tests/process/entries.rs"]
mod entries;

fn main() -> Result<(), &'static str> {
    if cfg!(panic = "unwind") {
        return Err("this build catches panics; build it with `--profile abort`");
    }
    for case in entries::CASES {
        entries::use_in_a_destructor(case, false);
    }
    println!("pools were used in destructors of thread-locals, and nothing panicked");
    Ok(())
}
