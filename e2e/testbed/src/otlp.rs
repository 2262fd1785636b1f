//! The OpenTelemetry Collector's receiver, and the spans that it was sent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::binaries;
use crate::fleet::Fleet;
use crate::go_module::OTLP_RECEIVER;
use crate::ports::free_port;
use crate::process::{Launch, Server};
use crate::wait::wait_until;

const DEADLINE: Duration = Duration::from_secs(30);

/// A running receiver.
#[derive(Debug)]
pub struct Receiver {
    server: Server,
    address: String,
    file: PathBuf,
}

/// A span as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What was done.
    pub name: String,
    /// The trace, in hexadecimal digits.
    pub trace: String,
    /// The span, in hexadecimal digits.
    pub id: String,
    /// The span above it; empty if it begins the trace.
    pub parent: String,
    /// Its attributes, and those of its sender.
    pub attributes: BTreeMap<String, String>,
}

impl Span {
    /// The value of an attribute, or nothing.
    pub fn attribute(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }

    fn read(span: &Value, sender: &BTreeMap<String, String>) -> Result<Self> {
        let text = |field: &str| span[field].as_str().unwrap_or_default().to_owned();
        let mut own = attributes(span)?;
        own.extend(sender.clone());
        Ok(Self {
            name: text("name"),
            trace: text("traceId"),
            id: text("spanId"),
            parent: text("parentSpanId"),
            attributes: own,
        })
    }
}

impl Receiver {
    /// Starts the receiver, built first if need be, and waits until it listens.
    pub async fn start(fleet: &Fleet) -> Result<Self> {
        let program = tokio::task::spawn_blocking(|| binaries::own(&OTLP_RECEIVER)).await??;
        let folder = fleet.run().folder("otlp")?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let file = folder.join("traces.jsonl");
        let arguments = [format!("-listen={address}"), format!("-output={}", file.display())];
        let launch = Launch {
            name: "otlp-receiver".to_owned(),
            program,
            arguments: arguments.map(Into::into).into(),
            environment: Vec::new(),
            without: Vec::new(),
            log: folder.join("receiver.log"),
        };
        let mut server = Server::start(&launch, fleet.run())?;
        let listens = wait_until("the receiver listens", DEADLINE, async || {
            Ok(TcpStream::connect(&address).await.is_ok())
        })
        .await;
        server.check_alive()?;
        listens.with_context(|| server.log_tail(15))?;
        Ok(Self { server, address, file })
    }

    /// Where agents send their traces.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All spans so far.
    pub fn spans(&mut self) -> Result<Vec<Span>> {
        self.server.check_alive()?;
        let text = std::fs::read_to_string(&self.file)?;
        let mut spans = Vec::new();
        // The last line may be half of one.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let batch: Value = serde_json::from_str(line).context("a line of the receiver")?;
            for sent in list(&batch, "resourceSpans") {
                let sender = attributes(&sent["resource"])?;
                for span in list(sent, "scopeSpans").flat_map(|scope| list(scope, "spans")) {
                    spans.push(Span::read(span, &sender)?);
                }
            }
        }
        Ok(spans)
    }
}

fn list<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    object[field].as_array().into_iter().flatten()
}

/// Attributes of a span or of its sender; all are text.
fn attributes(object: &Value) -> Result<BTreeMap<String, String>> {
    let pair = |pair: &Value| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (key, value) = (text(&pair["key"]), text(&pair["value"]["stringValue"]));
        key.zip(value).with_context(|| format!("an attribute that is no text: {pair}"))
    };
    list(object, "attributes").map(pair).collect()
}
