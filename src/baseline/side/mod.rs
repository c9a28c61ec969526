//! The Python process: PyTorch beside the workers, for baselines and implementations in Python.

mod state;

pub use state::{Alarm, Ready, Side};
