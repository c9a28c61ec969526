//! Checks beside bounds: undefined values, races, the first number that is not finite.

pub(super) mod dependence;
mod leaving;
mod missing;
pub(crate) mod numbers;
pub(super) mod order;
mod quick;
pub(super) mod races;
pub(super) mod shadow;
pub(super) mod taint;
pub(super) mod unused;
mod watch;
