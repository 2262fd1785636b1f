//! What reading costs: allocations may grow with the input, and no faster.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use proptest::test_runner::TestCaseError;

/// Whatever is read needs so much.
const GROUND: u64 = 64 << 10;

/// Runs `read`, which may need `factor` bytes for each byte of the input at one time.
///
/// # Errors
/// If it needs more.
pub(crate) fn bounded<T>(
    input: usize,
    factor: u64,
    read: impl FnOnce() -> T,
) -> Result<T, TestCaseError> {
    let mut result = None;
    let info = allocation_counter::measure(|| {
        // A panic that leaves the measurement would leave it on.
        result = Some(catch_unwind(AssertUnwindSafe(read)));
    });
    let most = GROUND + factor * input as u64;
    let result = result.unwrap().unwrap_or_else(|panic| resume_unwind(panic));
    if info.bytes_max > most {
        let line = format!("{} bytes for an input of {input}, {most} at most", info.bytes_max);
        return Err(TestCaseError::fail(line));
    }
    Ok(result)
}

#[test]
fn what_is_allocated_is_counted() {
    assert!(bounded(0, 0, || vec![0_u8; 1 << 20]).is_err());
    assert!(bounded(1 << 20, 1, || vec![0_u8; 1 << 20]).is_ok());
}
