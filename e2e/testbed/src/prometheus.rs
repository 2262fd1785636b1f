//! A real Prometheus that scrapes the agents of a fleet; the operating system's packages have it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::agents::Agents;
use crate::fleet::Fleet;
use crate::plain_http;
use crate::ports::free_port;
use crate::process::{Launch, Server, find_in_path, is_ci};
use crate::wait::wait_until;

const DEADLINE: Duration = Duration::from_mins(2);

/// A running Prometheus.
#[derive(Debug)]
pub struct Prometheus {
    server: Server,
    url: String,
}

/// A program of the package `prometheus`; `None` where it is not installed, which CI does not accept.
pub fn program(name: &str) -> Result<Option<PathBuf>> {
    let found = find_in_path(name);
    if found.is_none() && is_ci() {
        bail!("{name} is missing; install the package prometheus");
    }
    Ok(found)
}

impl Prometheus {
    /// Starts `program` with `rules`, scraping all agents of a fleet twice a second, and waits until it has them.
    pub async fn start(
        program: &Path,
        fleet: &Fleet,
        agents: &Agents,
        rules: &[(&str, String)],
    ) -> Result<Self> {
        let folder = fleet.run().folder("prometheus")?;
        let mut configuration =
            "global: {scrape_interval: 500ms, evaluation_interval: 500ms}\nscrape_configs:\n"
                .to_owned();
        for agent in fleet.agents() {
            let (name, port) = (fleet.agent_name(agent), agents.metrics_port(agent)?);
            writeln!(
                configuration,
                "- {{job_name: {name}, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}"
            )?;
        }
        configuration += "rule_files: ['*.rules.yaml']\n";
        for (name, text) in rules {
            std::fs::write(folder.join(format!("{name}.rules.yaml")), text)?;
        }
        let file = folder.join("prometheus.yaml");
        std::fs::write(&file, configuration)?;
        let port = free_port()?;
        let arguments = [
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
            "--log.level=warn".to_owned(),
        ];
        let launch = Launch {
            name: "prometheus".to_owned(),
            program: program.to_owned(),
            arguments: arguments.map(Into::into).into(),
            environment: Vec::new(),
            without: Vec::new(),
            log: folder.join("prometheus.log"),
        };
        let server = Server::start(&launch, fleet.run())?;
        let mut prometheus = Self { server, url: format!("http://127.0.0.1:{port}/api/v1") };
        let count = fleet.agents().len();
        let ready = wait_until("Prometheus scrapes all agents", DEADLINE, async || {
            let targets = prometheus.ask("targets").await?;
            let targets = targets["activeTargets"].as_array().context("targets")?;
            Ok(targets.iter().filter(|target| target["health"] == "up").count() == count)
        })
        .await;
        prometheus.server.check_alive()?;
        ready.with_context(|| prometheus.server.log_tail(15))?;
        Ok(prometheus)
    }

    /// The names of the alerts that fire or are about to.
    pub async fn alerts(&self, state: &str) -> Result<Vec<String>> {
        let alerts = self.ask("alerts").await?;
        let alerts = alerts["alerts"].as_array().context("alerts")?.iter();
        let names = alerts.filter(|alert| alert["state"] == state);
        Ok(names
            .filter_map(|alert| Some(alert["labels"]["alertname"].as_str()?.to_owned()))
            .collect())
    }

    /// When the rule group that is furthest behind was evaluated; an error if a rule cannot be.
    pub async fn evaluated(&self) -> Result<jiff::Timestamp> {
        let groups = self.ask("rules").await?;
        let mut oldest = jiff::Timestamp::MAX;
        for group in groups["groups"].as_array().context("groups")? {
            let rules = group["rules"].as_array().context("rules")?;
            let broken = rules.iter().find(|rule| rule["health"] == "err");
            ensure!(broken.is_none(), "{broken:?}");
            let last = group["lastEvaluation"].as_str().context("lastEvaluation")?;
            oldest = oldest.min(last.parse()?);
        }
        Ok(oldest)
    }

    /// The names of all series that were scraped.
    pub async fn names(&self) -> Result<Vec<String>> {
        Ok(serde_json::from_value(self.ask("label/__name__/values").await?)?)
    }

    /// Whether an agent did not answer a scrape in the last ten seconds, as where it gets no processor.
    pub async fn missed_scrapes(&self) -> Result<bool> {
        let lowest = self.ask("query?query=min(min_over_time(up%5B10s%5D))").await?;
        Ok(lowest["result"][0]["value"][1].as_str().context("a value of up")? != "1")
    }

    async fn ask(&self, what: &str) -> Result<Value> {
        let (status, text) = plain_http::get(&format!("{}/{what}", self.url)).await?;
        ensure!(status == 200, "{what}: {status} {text}");
        Ok(serde_json::from_str::<Value>(&text)?["data"].take())
    }
}
