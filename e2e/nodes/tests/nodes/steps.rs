//! Steps of a test, with the time that each took.

use std::time::Instant;

use anyhow::{Context, Result};

pub(crate) struct Steps {
    test: String,
}

impl Steps {
    pub(crate) fn begin(test: &str) -> Self {
        Self { test: test.to_owned() }
    }

    /// Does one step and prints its time.
    pub(crate) async fn take<T>(
        &mut self,
        what: &str,
        step: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begin = Instant::now();
        let done = step.await.with_context(|| format!("{}: {what}", self.test))?;
        eprintln!("{:8} {:6.1} s  {what}", self.test, begin.elapsed().as_secs_f64());
        Ok(done)
    }
}
