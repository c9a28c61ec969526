//! The worker's end of the socket: one request at a time, each with a time limit.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    message::{Cubin, DoBenchTimes, Flush, Prepare, Prepared, Refusal, RefusalKind, Reply},
    state::{Facts, Sidecar},
};

/// Longest line that the process may answer: times of many samples.
const MAX_LINE: usize = 16 << 20;

/// Share, and seconds, by which the clocks of two processes may differ.
const CLOCK_MARGIN: (f64, f64) = (0.01, 1e-3);

/// A connection to a process. Its bound calls are forgotten when this is dropped.
#[derive(Debug)]
pub struct Client {
    program: Sidecar,
    stream: BufReader<UnixStream>,
    last_id: u64,
}

/// Why a process did not answer as it should.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its socket takes no connection.
    #[error("{program} cannot be reached")]
    Connect { program: Sidecar, source: io::Error },
    /// It closed the connection.
    #[error("{program} ended when it was asked to {action}")]
    Gone {
        program: Sidecar,
        /// The request.
        action: &'static str,
    },
    /// It did not answer in time.
    #[error("{program} did not {action} within {limit_s} s")]
    Overdue {
        program: Sidecar,
        /// The request.
        action: &'static str,
        /// The limit, in seconds.
        limit_s: u64,
    },
    /// Its answer belongs to no request.
    #[error("{program} answered `{action}` with something else: {reason}")]
    Garbage {
        program: Sidecar,
        /// The request.
        action: &'static str,
        /// The mistake in the answer.
        reason: String,
    },
    /// Its times cannot be true.
    #[error("{program} answered `{action}` with times that cannot be true: {reason}")]
    Untrue {
        program: Sidecar,
        /// The request.
        action: &'static str,
        /// The contradiction.
        reason: String,
    },
    /// It said no.
    #[error("{0}")]
    Refused(Refusal),
}

impl Error {
    /// Returns whether the process can be asked nothing more.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        match self {
            Self::Refused(refusal) => matches!(refusal.kind, RefusalKind::GpuLost),
            Self::Connect { .. }
            | Self::Gone { .. }
            | Self::Overdue { .. }
            | Self::Garbage { .. }
            | Self::Untrue { .. } => true,
        }
    }
}

/// How a bound call is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sampling {
    pub samples: u32,
    /// Samples before them that are thrown away.
    pub warm_up: u32,
    /// The preparation of each.
    pub flush: Flush,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct Of {
    handle: u64,
}

#[derive(Serialize)]
struct Loop {
    handle: u64,
    seconds: f64,
}

/// Device memory of a call, in bytes; `None` where the library does not count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub struct CallMemory {
    /// Outputs and workspace at once.
    pub peak_bytes: Option<u64>,
    /// The part beyond the outputs.
    pub workspace_bytes: Option<u64>,
}

/// Calls that were made back to back.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
pub struct Repeated {
    pub calls: u64,
    pub seconds: f64,
}

#[derive(serde::Deserialize)]
struct Times {
    us: Vec<f64>,
}

#[derive(serde::Deserialize)]
struct Ran {
    seconds: f64,
}

#[derive(serde::Deserialize)]
struct Done {}

impl Client {
    /// Connects to a process that listens.
    ///
    /// # Errors
    ///
    /// [`Error::Connect`].
    pub fn connect(program: Sidecar, socket: &Path) -> Result<Self, Error> {
        let stream =
            UnixStream::connect(socket).map_err(|source| Error::Connect { program, source })?;
        Ok(Self { program, stream: BufReader::new(stream), last_id: 0 })
    }

    /// Asks the process for its description; it answers when it is done with the client before.
    ///
    /// # Errors
    ///
    /// Any [`Error`], as for all requests.
    pub fn hello(&mut self, limit: Duration) -> Result<Facts, Error> {
        self.ask("hello", &Nothing {}, limit)
    }

    /// Returns the device memory of one call, as the library's own allocator counts it.
    ///
    /// # Errors
    ///
    /// Any [`Error`], as for all requests.
    pub fn memory(&mut self, handle: u64, limit: Duration) -> Result<CallMemory, Error> {
        self.ask("memory", &Of { handle }, limit)
    }

    /// Makes a call back to back for so many seconds; returns how often, and how long that took.
    ///
    /// # Errors
    ///
    /// Any [`Error`], as for all requests; [`Error::Untrue`] where it cannot have been so long.
    pub fn repeat(
        &mut self,
        handle: u64,
        seconds: f64,
        limit: Duration,
    ) -> Result<Repeated, Error> {
        let began = Instant::now();
        let repeated: Repeated = self.ask("loop", &Loop { handle, seconds }, limit)?;
        self.fits("loop", repeated.seconds, began.elapsed())?;
        if repeated.calls == 0 || repeated.seconds < seconds * (1.0 - CLOCK_MARGIN.0) {
            let Repeated { calls, seconds: lasted } = repeated;
            let reason = format!("{calls} calls in {lasted} s, though {seconds} s were asked for");
            return Err(Error::Untrue { program: self.program, action: "loop", reason });
        }
        Ok(repeated)
    }

    /// Binds a call to its tensors and makes it once, which compiles it where that is needed.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; [`Error::Refused`] where the call cannot be made or returns something else.
    pub fn prepare(&mut self, call: &Prepare, limit: Duration) -> Result<Prepared, Error> {
        self.ask("prepare", call, limit)
    }

    /// Makes a bound call and puts its outputs into their places. Returns the seconds it took.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub fn run(&mut self, handle: u64, limit: Duration) -> Result<f64, Error> {
        Ok(self.ask::<Ran>("run", &Of { handle }, limit)?.seconds)
    }

    /// Times a bound call. Returns the samples in microseconds.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; [`Error::Untrue`] where the samples together are longer than the request took.
    pub fn time(
        &mut self,
        handle: u64,
        sampling: Sampling,
        limit: Duration,
    ) -> Result<Vec<f64>, Error> {
        self.samples("time", with(&Of { handle }, &sampling), sampling, limit)
    }

    /// Times launches of machine code, of which every argument lies in shared memory or is a
    /// value: kgen's times of them can be compared with those of this process.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub fn time_cubin(
        &mut self,
        cubin: &Cubin,
        sampling: Sampling,
        limit: Duration,
    ) -> Result<Vec<f64>, Error> {
        self.samples("time_cubin", with(cubin, &sampling), sampling, limit)
    }

    /// Measures a bound call with Triton's own harness.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; [`RefusalKind::Unsupported`] where Triton is not installed.
    pub fn do_bench(&mut self, handle: u64, limit: Duration) -> Result<DoBenchTimes, Error> {
        self.ask("do_bench", &Of { handle }, limit)
    }

    /// Measures machine code with Triton's own harness.
    ///
    /// # Errors
    ///
    /// As [`Client::do_bench`].
    pub fn do_bench_cubin(
        &mut self,
        cubin: &Cubin,
        limit: Duration,
    ) -> Result<DoBenchTimes, Error> {
        self.ask("do_bench_cubin", cubin, limit)
    }

    /// Forgets a bound call and lets go of its memory.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub fn drop_handle(&mut self, handle: u64, limit: Duration) -> Result<(), Error> {
        self.ask::<Done>("drop", &Of { handle }, limit).map(drop)
    }

    fn samples(
        &mut self,
        action: &'static str,
        fields: serde_json::Value,
        sampling: Sampling,
        limit: Duration,
    ) -> Result<Vec<f64>, Error> {
        let began = Instant::now();
        let Times { us } = self.ask(action, &fields, limit)?;
        let wall = began.elapsed();
        let usable = us.iter().all(|us| us.is_finite() && *us >= 0.0);
        if us.len() != sampling.samples as usize || !usable {
            let reason = format!("{} samples, {} were asked for", us.len(), sampling.samples);
            return Err(Error::Garbage { program: self.program, action, reason });
        }
        self.fits(action, us.iter().sum::<f64>() * 1e-6, wall)?;
        Ok(us)
    }

    /// Checks that what a request is said to have taken is no longer than it took by this process's clock.
    fn fits(&self, action: &'static str, seconds: f64, wall: Duration) -> Result<(), Error> {
        let (share, least) = CLOCK_MARGIN;
        let wall = wall.as_secs_f64();
        // A number that is none does not fit either.
        if seconds <= wall * (1.0 + share) + least {
            return Ok(());
        }
        let reason = format!("{seconds:.6} s, but the request took {wall:.6} s");
        Err(Error::Untrue { program: self.program, action, reason })
    }

    /// Sends one request and waits for its answer.
    fn ask<R: DeserializeOwned>(
        &mut self,
        action: &'static str,
        fields: &impl Serialize,
        limit: Duration,
    ) -> Result<R, Error> {
        self.last_id += 1;
        let id = self.last_id;
        let mut line = with(&serde_json::json!({ "id": id, "do": action }), fields).to_string();
        line.push('\n');
        let program = self.program;
        let deadline = Instant::now() + limit;
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Error::Overdue { program, action, limit_s: limit.as_secs() }
            }
            _ => Error::Gone { program, action },
        };
        self.send(line.as_bytes(), deadline).map_err(failed)?;
        let garbage = |reason: String| Error::Garbage { program, action, reason };
        let answer =
            self.receive(deadline).map_err(failed)?.ok_or(Error::Gone { program, action })?;
        let reply: Reply =
            serde_json::from_slice(&answer).map_err(|error| garbage(error.to_string()))?;
        if reply.id != Some(id) {
            return Err(garbage("it belongs to another request".to_owned()));
        }
        match (reply.ok, reply.error) {
            (_, Some(refusal)) => Err(Error::Refused(refusal)),
            (Some(ok), None) => {
                serde_json::from_value(ok).map_err(|error| garbage(error.to_string()))
            }
            (None, None) => Err(garbage("it holds neither a result nor an error".to_owned())),
        }
    }

    fn send(&mut self, line: &[u8], deadline: Instant) -> io::Result<()> {
        let stream = self.stream.get_mut();
        stream.set_write_timeout(Some(left(deadline)?))?;
        stream.write_all(line)
    }

    /// Reads one line; `None` where the process closed the connection.
    fn receive(&mut self, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            // A process that sends a byte now and then must not stretch the limit.
            self.stream.get_ref().set_read_timeout(Some(left(deadline)?))?;
            let bytes = match self.stream.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            if bytes.is_empty() {
                return Ok(None);
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            let n_used = end.map_or(bytes.len(), |end| end + 1);
            self.stream.consume(n_used);
            if end.is_some() {
                return Ok(Some(line));
            }
            if line.len() > MAX_LINE {
                return Err(io::Error::other("the line does not end"));
            }
        }
    }
}

/// Returns the rest of a limit.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Joins the fields of two objects.
fn with(first: &impl Serialize, second: &impl Serialize) -> serde_json::Value {
    let object = |value: serde_json::Result<serde_json::Value>| match value {
        Ok(serde_json::Value::Object(fields)) => fields,
        other => unreachable!("requests are objects of plain data: {other:?}"),
    };
    let mut fields = object(serde_json::to_value(first));
    fields.extend(object(serde_json::to_value(second)));
    fields.into()
}

#[cfg(test)]
mod tests;
