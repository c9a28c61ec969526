//! File locks that are waited for.

use std::{
    fs::{File, TryLockError},
    io,
    thread::sleep,
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// Time between two looks at a lock that another process holds.
const POLL: Duration = Duration::from_millis(20);

/// How a file is locked, or what its lock stands for is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Beside other shared locks.
    Shared,
    /// Alone.
    Exclusive,
}

/// Locks a file; returns false where it is not free and `wait` does not want to wait.
///
/// `wait` is asked again and again while the lock is not free.
///
/// # Errors
///
/// When the file cannot be locked.
pub fn lock(file: &File, access: Access, mut wait: impl FnMut() -> bool) -> io::Result<bool> {
    loop {
        let locked = match access {
            Access::Shared => file.try_lock_shared(),
            Access::Exclusive => file.try_lock(),
        };
        match locked {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(error);
            }
            Err(_) => {}
        }
        if !wait() {
            return Ok(false);
        }
        sleep(POLL);
    }
}
