//! Measures `dockhand` beside what a Rust developer would use instead, and beside what the hardware asks for the thing
//! itself.
//!
//! A [candidate](peer::Candidate) runs [jobs](job::Job); a [scenario](scenario::Scenario) is written once for all of them.
//! The runs of all candidates of a scenario are [interleaved](series::interleave); the medians are compared
//! ([`goal::Ratio`]), and held against the goals that stand beside the scenario.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench compare -- [--quick] [--only SCENARIO]`

pub mod allocator;
pub mod child;
pub mod clock;
pub mod gate;
pub mod goal;
pub mod job;
pub mod options;
pub mod peer;
pub mod peers;
pub mod report;
pub mod scale;
pub mod scenario;
pub mod scenarios;
pub mod series;
pub mod stats;
pub mod tally;
