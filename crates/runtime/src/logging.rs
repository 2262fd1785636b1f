//! The log of the process.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::Duration;

use tracing::{Dispatch, field};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A filter that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{source_name}: {reason}")]
pub struct LogError {
    source_name: &'static str,
    reason: String,
}

/// Lines that wait to be written. Further ones are dropped and counted.
const LINES: usize = 8192;
/// The module of the client library that quotes whole answers of API servers: at WARN those that it cannot decode. Nothing
/// of it is logged at any level, since objects of users do not belong in a log. The error has the reason.
const QUOTES_ANSWERS: &str = "kube_client::client";

/// Writes what is logged, until it is dropped: then it writes what waits, for a second at most.
#[must_use = "without it nothing is written"]
#[derive(Debug)]
pub struct LogWriter(#[expect(dead_code, reason = "it works until it is dropped")] WorkerGuard);

/// Of the log of the process.
static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// How many lines were dropped because standard error was not read.
pub(crate) fn dropped_lines() -> u64 {
    let dropped = DROPPED.get().map_or(0, ErrorCounter::dropped_lines);
    u64::try_from(dropped).unwrap_or(u64::MAX)
}

/// A writer that never waits: a thread of its own hands the lines to `output`.
fn non_blocking(output: impl Write + Send + 'static) -> (NonBlocking, WorkerGuard) {
    let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(LINES);
    builder.thread_name("log").finish(output)
}

/// Sends logs to standard error: text on a terminal, JSON elsewhere. No task waits for it: a pipe that is not read would
/// stop the agent otherwise.
///
/// `filter` is the value of `--log-level`; without it `RUST_LOG` counts, without that "info".
///
/// # Errors
/// When the filter cannot be read or logging was set up already.
pub fn init_logging(filter: Option<&str>) -> Result<LogWriter, LogError> {
    let filter = log_filter(filter, std::env::var("RUST_LOG").ok().as_deref())?;
    let (output, thread) = non_blocking(io::stderr());
    let dropped = output.error_counter();
    let result = subscriber(filter, output, io::stderr().is_terminal()).try_init();
    result.map_err(|error| LogError { source_name: "logging", reason: error.to_string() })?;
    // Set once: logging cannot be set up twice.
    let _ = DROPPED.set(dropped);
    Ok(LogWriter(thread))
}

/// What formats the lines, as text or as JSON, and hands them to `output`.
fn subscriber<W>(filter: EnvFilter, output: W, as_text: bool) -> Dispatch
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(output);
    let unquoted = filter_fn(|metadata| metadata.target() != QUOTES_ANSWERS);
    if as_text {
        builder.finish().with(unquoted).into()
    } else {
        builder.json().flatten_event(true).finish().with(unquoted).into()
    }
}

/// From now on a panic in any task or thread ends the process: what is left of it would look alive.
pub fn end_on_panic() {
    /// For the thread that writes the log.
    const LAST_WORDS: Duration = Duration::from_millis(200);
    std::panic::set_hook(Box::new(|panic| {
        let error = panic.payload_as_str().unwrap_or_default();
        let place = panic.location().map(ToString::to_string);
        let backtrace = Backtrace::capture();
        let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
        let backtrace = backtrace.as_ref().map(field::display);
        tracing::error!(error, place, backtrace, "Panicked, ending the process");
        std::thread::sleep(LAST_WORDS);
        std::process::abort();
    }));
}

fn log_filter(flag: Option<&str>, env: Option<&str>) -> Result<EnvFilter, LogError> {
    let (source_name, text) = match (flag, env.filter(|text| !text.is_empty())) {
        (Some(text), _) => ("--log-level", text),
        (None, Some(text)) => ("RUST_LOG", text),
        (None, None) => ("default", "info"),
    };
    EnvFilter::try_new(text)
        .map_err(|error| LogError { source_name, reason: format!("{text:?}: {error}") })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use parking_lot::Mutex;
    use serde_json::Value;

    use super::*;

    /// A pipe that is not read.
    struct Stuck(mpsc::Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_are_not_read_are_dropped_and_counted() {
        const MORE: usize = 100;
        let (unstick, stuck) = mpsc::channel();
        let (mut output, _thread) = non_blocking(Stuck(stuck));
        // One is being written.
        for _ in 0..LINES + MORE {
            output.write_all(b"line\n").unwrap();
        }
        let count = output.error_counter().dropped_lines();
        assert!((1..=MORE).contains(&count), "{count}");
        drop(unstick);
    }

    /// What is logged, for a test to read.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(line);
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The library logs an answer that it cannot decode as it is.
    #[tokio::test]
    async fn answers_of_api_servers_are_not_quoted() {
        for (level, as_text) in [("info", false), ("trace", true)] {
            let lines = Lines::default();
            let (output, filter) = (lines.clone(), log_filter(Some(level), None).unwrap());
            let log = subscriber(filter, move || output.clone(), as_text);
            let _log = tracing::dispatcher::set_default(&log);
            let (service, mut server) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
            let client = Client::new(service, "default");
            let answer = async {
                let (_, reply) = server.next_request().await.unwrap();
                reply.send_response(Response::new(Body::from(b"private".to_vec())));
            };
            let request = client.request::<Value>(Request::get("/").body(Vec::new()).unwrap());
            let (result, ()) = tokio::join!(request, answer);
            assert!(matches!(result, Err(kube::Error::SerdeError(_))), "{result:?}");
            tracing::warn!(target: "kube_client::client::tls", "other modules are logged");
            let text = lines.text();
            assert!(!text.contains("private"), "{text}");
            assert!(text.contains("other modules are logged"), "{text}");
        }
    }

    #[test]
    fn the_flag_wins_over_the_environment() {
        let text = |flag, env| log_filter(flag, env).map(|filter| filter.to_string());
        assert_eq!(text(None, None).unwrap(), "info");
        assert_eq!(text(None, Some("")).unwrap(), "info");
        assert_eq!(text(None, Some("debug")).unwrap(), "debug");
        assert_eq!(text(Some("warn"), Some("debug")).unwrap(), "warn");
        let error = text(Some("a=b=c"), None).unwrap_err().to_string();
        assert!(error.starts_with("--log-level: "), "{error}");
    }
}
