//! How the cost of operations on letters, keys, delayed tasks and handles grows with their number.
//!
//! Prints the time for each at 1,000, 10,000 and 100,000. What is in proportion stays the same from column to column;
//! what is quadratic grows tenfold.
//!
//! `cargo bench --bench growth`
#![allow(clippy::print_stdout, reason = "it is what a bench is for")]

mod costs;

use costs::SCENARIOS;

fn main() {
    let is_test = std::env::args().any(|arg| arg == "--test");
    let sizes = if is_test { [10, 20, 50] } else { [1_000, 10_000, 100_000] };
    println!("{:<54}{:>10}{:>10}{:>10}", "ns for each of so many", sizes[0], sizes[1], sizes[2]);
    for (name, scenario) in SCENARIOS {
        let costs = sizes.map(|n| {
            // The shortest of some runs is the one that was disturbed least.
            let shortest = (0..3).map(|_| scenario(n)).min().unwrap_or_default();
            shortest.as_nanos() / n as u128
        });
        println!("{name:<54}{:>10}{:>10}{:>10}", costs[0], costs[1], costs[2]);
    }
}
