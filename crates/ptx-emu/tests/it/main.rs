//! PTX that NVRTC made of the `.cu` files beside it, run on the emulator.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "expected values are computed with the casts that the kernels do"
)]

mod arithmetic;
#[cfg(feature = "cli")]
mod cli;
mod cluster;
mod corpus;
mod counts;
mod coverage;
mod dependence;
mod faults;
mod foreign;
mod forms;
mod golden;
mod harness;
mod heap;
mod hopper;
mod hostile;
mod isa;
mod kernels;
mod libcu;
mod matrix;
mod mbarrier;
mod models;
mod mutants;
mod parallel;
mod program;
mod races;
mod random;
mod robustness;
mod scheduling;
mod tensor;
mod undefined;
