//! Waiting for a condition, never for time to pass.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Pause between two looks: short at first, for what is about to happen, then longer.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// A pause is as long as the last look took, up to this: many looks are programs, and what is waited for needs the processors, too.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// For what an API server takes up by itself, as a definition: seconds, on a busy machine too.
pub const TAKEN_UP: Duration = Duration::from_mins(1);

/// Looks again and again until `look` finds something, and returns that.
///
/// `look` answers `Ok(None)` for "not yet". An error is remembered and taken as "not yet" too, since servers may be
/// restarting; the failure message after `deadline` names `what` and the last error.
pub async fn wait_for<T>(
    what: &str,
    deadline: Duration,
    mut look: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let begin = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let looked = Instant::now();
        let last_error = match look().await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if begin.elapsed() >= deadline {
            match last_error {
                Some(error) => bail!("not within {deadline:?}: {what}; last error: {error:#}"),
                None => bail!("not within {deadline:?}: {what}"),
            }
        }
        tokio::time::sleep(pause.max(looked.elapsed().min(LONGEST_REST))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// [`wait_for`] a plain yes.
pub async fn wait_until(
    what: &str,
    deadline: Duration,
    mut look: impl AsyncFnMut() -> Result<bool>,
) -> Result<()> {
    wait_for(what, deadline, async || Ok(look().await?.then_some(()))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn finds_what_appears_later() {
        let mut looks = 0;
        let found = wait_for("the third look", Duration::from_secs(5), async || {
            looks += 1;
            Ok((looks == 3).then_some(looks))
        })
        .await;
        assert_eq!(found.unwrap(), 3);
    }

    #[tokio::test]
    async fn the_failure_names_what_and_the_last_error() {
        let result: Result<()> = wait_for("tea", Duration::ZERO, async || bail!("no water")).await;
        let message = result.unwrap_err().to_string();
        assert!(message.contains("tea") && message.contains("no water"), "{message}");
    }
}
