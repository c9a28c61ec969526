//! The state machine of an mbarrier object (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: mbarrier").

use std::fmt;

/// Most arrivals, and most bytes either way, that an mbarrier counts.
pub(super) const MAX_COUNT: u32 = (1 << 20) - 1;

/// Bits that set an encoded state apart from most other values.
const MARK: u64 = 0b10 << 62;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mbarrier {
    /// Parity of the phase that is under way.
    pub parity: bool,
    /// Arrivals this phase still waits for.
    pub pending: u32,
    /// Arrivals of a phase.
    pub expected: u32,
    /// Bytes of asynchronous copies this phase still waits for; negative if they came before they
    /// were announced.
    pub tx: i32,
}

/// A forbidden use of an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MbarrierError {
    /// The count is out of range.
    Count(u32),
    /// More arrivals than the phase still waits for.
    TooMany { count: u32, pending: u32 },
    /// The bytes under way are out of range.
    Bytes(i64),
    /// An arrival that must not complete the phase does.
    Completes,
    /// All have arrived and more bytes have come than were announced.
    Excess(u32),
}

impl fmt::Display for MbarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(n) => write!(f, "count {n} is not within 1 to {MAX_COUNT}"),
            Self::TooMany { count, pending } => {
                write!(f, "{count} arrivals where the phase waits for {pending}")
            }
            Self::Bytes(n) => write!(f, "{n} bytes under way, more than {MAX_COUNT}"),
            Self::Excess(n) => write!(f, "{n} bytes more have come than the phase expects"),
            Self::Completes => f.write_str("a `.noComplete` arrival completes the phase"),
        }
    }
}

impl Mbarrier {
    /// A new mbarrier in its first phase.
    pub(super) fn new(expected: u32) -> Result<Self, MbarrierError> {
        if !(1..=MAX_COUNT).contains(&expected) {
            return Err(MbarrierError::Count(expected));
        }
        Ok(Self { parity: false, pending: expected, expected, tx: 0 })
    }

    /// The eight bytes in memory, which also serve as the state that `arrive` returns.
    pub(super) fn encode(self) -> u64 {
        let tx = u64::from(self.tx as u32 & 0x1f_ffff);
        MARK | u64::from(self.parity) << 61
            | tx << 40
            | u64::from(self.expected) << 20
            | u64::from(self.pending)
    }

    /// The inverse of [`Self::encode`]; `None` if the bits are no state.
    pub(super) fn decode(bits: u64) -> Option<Self> {
        let field = |at: u32| (bits >> at) as u32 & MAX_COUNT;
        let tx = ((bits >> 40) as i32) << 11 >> 11;
        let state =
            Self { parity: bits >> 61 & 1 == 1, pending: field(0), expected: field(20), tx };
        (bits & 0b11 << 62 == MARK).then_some(state)
    }

    fn end_phase(&mut self) {
        if self.pending == 0 && self.tx == 0 {
            self.parity = !self.parity;
            self.pending = self.expected;
        }
    }

    fn add_bytes(&mut self, bytes: i64) -> Result<(), MbarrierError> {
        let tx = i64::from(self.tx) + bytes;
        if tx.abs() > i64::from(MAX_COUNT) {
            return Err(MbarrierError::Bytes(tx));
        }
        self.tx = tx as i32;
        Ok(())
    }

    /// Refuses a phase that can never complete because too many bytes have come.
    pub(super) fn settled(&self) -> Result<(), MbarrierError> {
        match self.tx {
            ..0 if self.pending == 0 => Err(MbarrierError::Excess(self.tx.unsigned_abs())),
            _ => Ok(()),
        }
    }

    /// `expect_tx`: the phase also waits for `bytes` bytes.
    pub(super) fn expect(&mut self, bytes: u32) -> Result<(), MbarrierError> {
        self.add_bytes(i64::from(bytes))
    }

    /// `complete_tx`: `bytes` bytes have come.
    pub(super) fn complete(&mut self, bytes: u32) -> Result<(), MbarrierError> {
        self.add_bytes(-i64::from(bytes))?;
        self.end_phase();
        Ok(())
    }

    /// `arrive`, and `arrive_drop` where `drop` is set.
    pub(super) fn arrive(&mut self, count: u32, drop: bool) -> Result<(), MbarrierError> {
        if !(1..=MAX_COUNT).contains(&count) {
            return Err(MbarrierError::Count(count));
        }
        let pending = self.pending;
        let left = pending.checked_sub(count).ok_or(MbarrierError::TooMany { count, pending })?;
        if drop {
            self.expected = self.expected.saturating_sub(count);
        }
        self.pending = left;
        self.end_phase();
        Ok(())
    }

    /// One more arrival is pending, for an asynchronous copy that will make it.
    pub(super) fn add_pending(&mut self) -> Result<(), MbarrierError> {
        if self.pending == MAX_COUNT {
            return Err(MbarrierError::Count(MAX_COUNT + 1));
        }
        self.pending += 1;
        Ok(())
    }

    /// Whether the phase with this parity is over, given that it is this one or the one before.
    pub(super) fn is_over(self, parity: bool) -> bool {
        self.parity != parity
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_COUNT, Mbarrier, MbarrierError};

    #[test]
    fn phases_complete_by_arrivals_and_bytes() {
        let mut bar = Mbarrier::new(3).expect("the count is in range");
        bar.arrive(2, false).expect("two of three");
        assert!(!bar.is_over(false));
        bar.expect(100).expect("few bytes");
        bar.arrive(1, false).expect("the last");
        assert!(!bar.is_over(false), "bytes are missing");
        bar.complete(60).expect("few bytes");
        assert!(!bar.is_over(false));
        bar.complete(40).expect("few bytes");
        assert!(bar.is_over(false));
        assert_eq!((bar.pending, bar.tx, bar.parity), (3, 0, true));
        bar.arrive(3, false).expect("all at once");
        assert!(bar.is_over(true) && !bar.is_over(false));
    }

    #[test]
    fn bytes_may_come_before_they_are_announced() {
        let mut bar = Mbarrier::new(1).expect("the count is in range");
        bar.complete(16).expect("few bytes");
        assert_eq!(bar.tx, -16);
        assert_eq!(Mbarrier::decode(bar.encode()), Some(bar));
        bar.expect(16).expect("few bytes");
        assert!(!bar.is_over(false));
        bar.arrive(1, false).expect("the only one");
        assert!(bar.is_over(false));
    }

    #[test]
    fn dropped_arrivals_leave_later_phases() {
        let mut bar = Mbarrier::new(4).expect("the count is in range");
        bar.arrive(1, true).expect("one of four");
        assert_eq!((bar.pending, bar.expected), (3, 3));
        bar.arrive(3, false).expect("the rest");
        assert_eq!((bar.pending, bar.expected, bar.parity), (3, 3, true));
    }

    #[test]
    fn misuse_is_named() {
        assert_eq!(Mbarrier::new(0), Err(MbarrierError::Count(0)));
        assert_eq!(Mbarrier::new(MAX_COUNT + 1), Err(MbarrierError::Count(MAX_COUNT + 1)));
        let mut bar = Mbarrier::new(2).expect("the count is in range");
        assert_eq!(bar.arrive(3, false), Err(MbarrierError::TooMany { count: 3, pending: 2 }));
        assert_eq!(bar.arrive(0, false), Err(MbarrierError::Count(0)));
        bar.expect(MAX_COUNT).expect("as many as can be");
        assert_eq!(bar.expect(1), Err(MbarrierError::Bytes(i64::from(MAX_COUNT) + 1)));
        let text = MbarrierError::TooMany { count: 3, pending: 2 }.to_string();
        assert_eq!(text, "3 arrivals where the phase waits for 2");
    }

    #[test]
    fn states_survive_encoding_and_other_bits_are_no_states() {
        for (parity, pending, expected, tx) in
            [(false, 1, 1, 0), (true, MAX_COUNT, MAX_COUNT, -(MAX_COUNT as i32)), (true, 0, 7, 5)]
        {
            let bar = Mbarrier { parity, pending, expected, tx };
            assert_eq!(Mbarrier::decode(bar.encode()), Some(bar));
        }
        assert_eq!(Mbarrier::decode(0), None);
        assert_eq!(Mbarrier::decode(u64::MAX), None);
        assert_eq!(Mbarrier::decode(u64::from(1.0_f32.to_bits())), None);
    }
}
