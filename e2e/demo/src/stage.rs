//! Does what a user would do, and follows what comes of it through the watches.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::Api;
use kube::api::PostParams;

use super::narrator::{Narrator, concerns};
use super::screen::{Row, Screen};
use super::text::duration;
use super::wanted::Wanted;
use fleet_testbed::Testbed;
use fleet_testbed::agents::Agents;
use fleet_testbed::observer::{Observation, Observer};
use fleet_testbed::stop::Stop;

/// Namespace of the Service that crosses.
pub(super) const NAMESPACE: &str = "demo";
/// How often servers and agents are looked after while nothing happens.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// After the wanted end, late events are shown until it has been quiet for this long ...
const QUIET: Duration = Duration::from_millis(250);
/// ... but no longer than this.
const LATE: Duration = Duration::from_secs(2);
/// Lines of each agent's log that a failure shows.
const LOG_LINES: usize = 8;

/// A running fleet with its watches.
pub(super) struct Stage {
    pub(super) screen: Screen,
    patience: Duration,
    observer: Observer,
    narrator: Narrator,
    summary: Vec<(String, Duration)>,
    // Agents before their servers: they would only log that those are gone.
    agents: Agents,
    fleet: Testbed,
}

/// When each wanted thing was seen, in the order in which they were listed.
pub(super) struct Followed {
    begin: Instant,
    seen: Vec<Instant>,
}

impl Followed {
    /// From the user's action to the last of all.
    pub(super) fn total(&self) -> Duration {
        self.seen.iter().max().map_or(Duration::ZERO, |last| *last - self.begin)
    }

    /// From the user's action to one of them.
    pub(super) fn until(&self, wanted: usize) -> Duration {
        self.seen[wanted] - self.begin
    }

    /// From one to another.
    pub(super) fn between(&self, from: usize, to: usize) -> Duration {
        self.seen[to].saturating_duration_since(self.seen[from])
    }
}

impl Stage {
    pub(super) async fn new(
        screen: Screen,
        patience: Duration,
        fleet: Testbed,
        agents: Agents,
    ) -> Result<Self> {
        let observer = Observer::start(&fleet).await.context("watch the fleet")?;
        let narrator = Narrator::default();
        Ok(Self { screen, patience, observer, narrator, summary: Vec::new(), agents, fleet })
    }

    pub(super) fn fleet(&self) -> &Testbed {
        &self.fleet
    }

    /// Does `action` and shows what happens until everything wanted was seen.
    pub(super) async fn act<T>(
        &mut self,
        (cluster, text): (&str, &str),
        action: impl AsyncFnOnce(&Testbed) -> Result<T>,
        wanted: impl FnOnce(&T) -> Vec<Wanted>,
    ) -> Result<(T, Followed)> {
        // What an earlier action left behind must not be taken for an effect of this one.
        for late in self.observer.take() {
            self.narrator.tell(&late);
        }
        self.screen.action(cluster, text);
        self.warm(cluster).await?;
        let begin = Instant::now();
        let done = tokio::time::timeout(self.patience, action(&self.fleet))
            .await
            .with_context(|| format!("{cluster} did not answer within {:?}", self.patience))?
            .with_context(|| format!("on {cluster}, the user {text}"))?;
        let followed = self.follow(begin, &wanted(&done)).await;
        Ok((done, followed.with_context(|| format!("on {cluster}, the user {text}, and then"))?))
    }

    /// Sends a request with a body and without an effect. On a new connection the first of these waits 40 ms for TCP,
    /// since kube's client sets no `TCP_NODELAY`: not the fleet's time. The pool hands the warm connection out next.
    async fn warm(&self, cluster: &str) -> Result<()> {
        let known = self.fleet.clusters().find(|known| known.name() == cluster);
        let client = known.with_context(|| format!("{cluster} is not in the fleet"))?.client();
        let who: Api<SelfSubjectReview> = Api::all(client);
        who.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
        Ok(())
    }

    async fn follow(&mut self, begin: Instant, wanted: &[Wanted]) -> Result<Followed> {
        let mut seen: Vec<Option<Instant>> = vec![None; wanted.len()];
        let mut last = begin;
        let mut complete: Option<Instant> = None;
        loop {
            let pause = if complete.is_some() { QUIET } else { LOOK_AFTER };
            if let Ok(next) = tokio::time::timeout(pause, self.observer.next()).await {
                let next = next?;
                self.show(&next, begin, &mut last);
                for (wanted, seen) in wanted.iter().zip(&mut seen) {
                    if seen.is_none() && wanted.fulfilled_by(&next) {
                        *seen = Some(next.at);
                    }
                }
            } else if complete.is_some() {
                break;
            } else {
                self.fleet.check_alive().await?;
                self.agents.check_alive()?;
            }
            if complete.is_none() && seen.iter().all(Option::is_some) {
                complete = Some(Instant::now());
            }
            if complete.is_some_and(|at| at.elapsed() > LATE) {
                break;
            }
            if complete.is_none() && begin.elapsed() > self.patience {
                let missing = wanted.iter().zip(&seen).filter(|(_, seen)| seen.is_none());
                let missing: Vec<&str> = missing.map(|(wanted, _)| wanted.text()).collect();
                bail!("not seen within {:?}:\n    {}", self.patience, missing.join("\n    "));
            }
        }
        Ok(Followed { begin, seen: seen.into_iter().flatten().collect() })
    }

    fn show(&mut self, seen: &Observation, begin: Instant, last: &mut Instant) {
        if !concerns(seen, NAMESPACE) {
            return;
        }
        let Some(meaning) = self.narrator.tell(seen) else { return };
        self.screen.row(&Row {
            after: seen.at.saturating_duration_since(begin),
            // Watches are read by several tasks, so events of one moment may come in any order.
            hop: seen.at.saturating_duration_since(*last),
            cluster: seen.cluster.clone(),
            kind: seen.kind.kind,
            name: seen.name(),
            meaning,
        });
        *last = seen.at.max(*last);
    }

    /// Prints what was reached and keeps it for the summary.
    pub(super) fn reached(&mut self, text: &str, after: Duration) {
        self.screen.reached(text, after);
        self.summary.push((text.to_owned(), after));
    }

    /// Prints everything that was reached.
    pub(super) fn summarize(&mut self) {
        for (text, after) in std::mem::take(&mut self.summary) {
            self.screen.line(&format!("  {:>9}  {text}", duration(after)));
        }
    }

    /// How to look at the clusters from another shell.
    pub(super) fn directions(&mut self) {
        let description = self.fleet.description();
        for cluster in &description.clusters {
            let (name, path) = (&cluster.name, cluster.kubeconfig.display());
            self.screen.line(&format!("  {name:<9} export KUBECONFIG={path}"));
        }
        self.screen.line(&format!("  logs      {}/*/*.log", description.folder.display()));
    }

    /// Keeps everything running until Ctrl-C, SIGTERM or the end of a server or agent.
    pub(super) async fn hold(mut self, stop: &mut Stop) -> Result<()> {
        self.screen.line("\nCtrl-C stops everything.");
        loop {
            tokio::select! {
                () = stop.wait() => break,
                () = tokio::time::sleep(LOOK_AFTER) => {}
            }
            // The events are not read any more; they must not accumulate.
            self.observer.take();
            self.fleet.check_alive().await?;
            self.agents.check_alive()?;
        }
        let Self { mut screen, agents, fleet, .. } = self;
        drop(agents);
        drop(fleet);
        screen.line("Stopped.");
        Ok(())
    }

    /// Adds to a failure what helps to understand it: the ends of the agents' logs, all objects.
    pub(super) async fn explain<T>(&mut self, result: Result<T>) -> Result<T> {
        let Err(error) = result else { return result };
        let mut logs = String::new();
        for agent in self.fleet.agents() {
            let name = self.fleet.agent_name(agent);
            let text =
                self.agents.log(agent).ok().and_then(|log| std::fs::read_to_string(log).ok());
            let lines: Vec<&str> = text.as_deref().unwrap_or_default().lines().collect();
            let tail = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n  ");
            // Writing to a String cannot fail.
            let _ = write!(logs, "\nlast lines of {name}:\n  {tail}");
        }
        eprintln!("{logs}");
        self.fleet.explain(Err(error)).await
    }
}
