//! Times between events on a library's own stream.

use std::{sync::Arc, time::Instant};

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, sys::CUevent_flags};

use crate::{
    cuda::failed,
    library::{Call, Samples},
    message::Flush,
    refusal::Refusal,
    time::Clock,
};

/// Times that a chunk is sampled at most until the host is ahead of the GPU.
const MOST_LEADS: u32 = 4;

/// Longest lead, in seconds.
const LONGEST_LEAD_S: f64 = 0.05;

/// Bytes that one step of a lead writes, and the least time that takes on any GPU: at 4 TB/s.
const LEAD_BYTES: usize = 256 << 20;
const LEAD_STEP_S: f64 = 64e-6;

/// Takes samples between two events on a stream: a chunk is enqueued as a whole before it is waited for.
pub struct EventClock {
    stream: Arc<CudaStream>,
    flushed: Option<CudaSlice<u8>>,
    lead: Option<CudaSlice<u8>>,
}

impl EventClock {
    /// Returns the clock of a library that computes on this stream.
    #[must_use]
    pub fn new(stream: Arc<CudaStream>) -> Self {
        Self { stream, flushed: None, lead: None }
    }

    /// Times a call `n` times. `read` reads so many bytes of the device on the same stream.
    ///
    /// # Errors
    ///
    /// Those of the call and of the driver.
    pub fn samples<T>(
        &mut self,
        call: Call<'_, T>,
        flush: Flush,
        read: &mut dyn FnMut(usize) -> Result<(), Refusal>,
        n: usize,
        warm_up: usize,
    ) -> Result<Samples, Refusal> {
        for _ in 0..warm_up {
            self.flush(flush, read)?;
            call()?;
        }
        let mut lead_s = 0.0;
        let mut events = Vec::new();
        for _ in 0..MOST_LEADS {
            self.stream.synchronize().map_err(failed)?;
            let began = Instant::now();
            self.spin(lead_s)?;
            events = self.enqueue(call, flush, read, n)?;
            let enqueue_s = began.elapsed().as_secs_f64();
            // A sample that began before its call was enqueued holds time in which the GPU waited for the host.
            let first = if lead_s > 0.0 { events.first() } else { events.last() };
            let is_late = first.is_some_and(|(start, _)| start.is_complete());
            self.stream.synchronize().map_err(failed)?;
            if !is_late {
                break;
            }
            lead_s = (2.0 * f64::max(lead_s, enqueue_s)).min(LONGEST_LEAD_S);
        }
        let elapsed = |(start, end): &(CudaEvent, CudaEvent)| start.elapsed_ms(end).map_err(failed);
        let us = events.iter().map(|pair| Ok(f64::from(elapsed(pair)?) * 1e3));
        Ok(Samples { us: us.collect::<Result<_, Refusal>>()?, clock: Clock::Event })
    }

    fn enqueue<T>(
        &mut self,
        call: Call<'_, T>,
        flush: Flush,
        read: &mut dyn FnMut(usize) -> Result<(), Refusal>,
        n: usize,
    ) -> Result<Vec<(CudaEvent, CudaEvent)>, Refusal> {
        let context = Arc::clone(self.stream.context());
        let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(failed);
        let pairs = (0..n).map(|_| Ok((event()?, event()?)));
        let pairs = pairs.collect::<Result<Vec<_>, Refusal>>()?;
        for (start, end) in &pairs {
            self.flush(flush, read)?;
            start.record(&self.stream).map_err(failed)?;
            call()?;
            end.record(&self.stream).map_err(failed)?;
        }
        Ok(pairs)
    }

    fn flush(
        &mut self,
        flush: Flush,
        read: &mut dyn FnMut(usize) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        match flush {
            Flush::None => Ok(()),
            Flush::Read { bytes } => read(bytes),
            Flush::Memset { bytes } => write(&self.stream, &mut self.flushed, bytes),
        }
    }

    /// Keeps the GPU busy for so many seconds, or longer.
    fn spin(&mut self, seconds: f64) -> Result<(), Refusal> {
        let mut left = seconds;
        while left > 0.0 {
            write(&self.stream, &mut self.lead, LEAD_BYTES)?;
            left -= LEAD_STEP_S;
        }
        Ok(())
    }
}

/// Writes a buffer of so many bytes.
fn write(
    stream: &Arc<CudaStream>,
    buffer: &mut Option<CudaSlice<u8>>,
    bytes: usize,
) -> Result<(), Refusal> {
    if buffer.as_ref().is_none_or(|buffer| buffer.len() != bytes) {
        *buffer = None;
        *buffer = Some(stream.alloc_zeros(bytes).map_err(failed)?);
    }
    match buffer {
        Some(buffer) => stream.memset_zeros(buffer).map_err(failed),
        None => Ok(()),
    }
}
