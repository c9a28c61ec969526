//! Some thousand random programs, the same in every run.

use crate::program::{Program, check};

/// The next number of a sequence (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn random_programs_end_and_checks_do_not_change_them() {
    let mut state = 1;
    let mut clean = 0;
    for _ in 0..2000 {
        let length = 16 + next(&mut state) as usize % 200;
        let bytes: Vec<u8> = (0..length).map(|_| next(&mut state) as u8).collect();
        clean += u32::from(check(&Program::new(&bytes)));
    }
    // Enough of both kinds.
    assert!((300..1700).contains(&clean), "{clean} programs are clean");
}
