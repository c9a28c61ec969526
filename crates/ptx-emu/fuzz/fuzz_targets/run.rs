//! Random valid programs end, and checks do not change the results of a clean one.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/program.rs"]
mod program;

fuzz_target!(|bytes: &[u8]| {
    program::check(&program::Program::new(bytes));
});
