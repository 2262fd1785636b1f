//! Runs one scenario per line of standard input and prints the crate's result as one line on standard output.
//!
//! `e2e/endpointslices/oracle` prints the results of Kubernetes' own controller for the same lines.

use std::error::Error;
use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

mod exact;
mod operations;
mod outcome;
mod reconciling;
mod scenario;
mod store;
mod views;

type Answer = Result<Value, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let brief = std::env::args().any(|argument| argument == "-brief");
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            // Standard output is line buffered, so a caller at a pipe sees each answer at once.
            writeln!(output, "{}", answer(&line, brief))?;
        }
    }
    Ok(())
}

fn answer(line: &str, brief: bool) -> Value {
    let request: Value = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => {
            return json!({"op": "?", "fault": format!("unreadable scenario: {error}")});
        }
    };
    let op = request["op"].as_str().filter(|op| !op.is_empty()).unwrap_or("reconcile").to_owned();
    let id = request["id"].clone();
    let result = match op.as_str() {
        "reconcile" => reconciling::answer(request, brief),
        "portKey" => operations::port_key(&request),
        "tracker" => operations::tracker(&request),
        "triggerTime" => operations::trigger_time(&request),
        "podEvent" => operations::pod_event(&request),
        "overloaded" => operations::overloaded(&request),
        unknown => Err(format!("unknown op {unknown}").into()),
    };
    match result {
        Ok(result) => json!({"id": id, "op": op, "result": result}),
        Err(error) => json!({"id": id, "op": op, "fault": error.to_string()}),
    }
}
