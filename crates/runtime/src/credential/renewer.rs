//! Renews the token in a Secret: the I/O around [`renewal`](super::renewal).

use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use kube::Client;
use prometheus::IntCounterVec;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::action::{Action, Known, action};
use super::claims::{Account, Claims};
use super::clock::Clocks;
use super::renewal::{TokenSettings, issued, outlives, replaces};
use super::request::{build, send};
use super::secret::SecretKey;
use crate::clients::{ClientSet, Credential};
use crate::clock::{BootClock, Clock};
use crate::writer::WriteGate;

/// How often the token is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Longest pause after failures. Each is twice as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// How often the Secret of a token that is no good is read: until then a user may have replaced the token there.
const RECOVER: Duration = Duration::from_secs(15);
/// A request that an API server answers to all users, but not with a credential that it rejects.
const PROOF: &str = "/version";

/// Renews the token of an API server, the hub, in a Secret of the own cluster.
///
/// Only the process that leads renews it. The others read the file that is mounted from the Secret, as this one does after a
/// restart. A new token is used at once, before the file shows it.
pub struct Renewer {
    hub: Client,
    own: Client,
    credential: Credential,
    secret: SecretKey,
    settings: TokenSettings,
    gate: WriteGate,
    clock: Clock,
    boot: BootClock,
    /// When the API server issued the last token to this process, by its clock, and when that arrived.
    issued: Option<(Timestamp, Duration)>,
    results: IntCounterVec,
    /// The last thing that was logged.
    said: Option<String>,
    failures: u32,
}

/// What became of a look at the token.
enum Looked {
    /// Nothing was to be done.
    Idle,
    /// It is not renewed, for this reason.
    Kept(String),
    /// There is a new one.
    Renewed,
    /// It is no good, and there is no other one.
    Lost,
}

impl Renewer {
    /// A renewer of the hub's token. `results` counts renewals by `result`: `renewed` or `failed`.
    pub fn new(
        hub: &ClientSet,
        own: &ClientSet,
        secret: SecretKey,
        settings: TokenSettings,
        gate: WriteGate,
        results: IntCounterVec,
    ) -> Self {
        for result in ["renewed", "failed"] {
            results.with_label_values(&[result]);
        }
        Self {
            hub: hub.lease.clone(),
            own: own.lease.clone(),
            credential: hub.credential.clone(),
            secret,
            settings,
            gate,
            clock: Clock::system(),
            boot: BootClock::system(),
            issued: None,
            results,
            said: None,
            failures: 0,
        }
    }

    /// Renews the token when it is time, until `cancel`.
    pub async fn run(mut self, cancel: CancellationToken) {
        let mut pause = LOOK;
        while cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            let Some(looked) = cancel.run_until_cancelled(self.look()).await else { return };
            pause = self.report(looked);
        }
    }

    /// Logs and counts what became of a look. Returns when to look again.
    fn report(&mut self, looked: Result<Looked, String>) -> Duration {
        let failures = std::mem::take(&mut self.failures);
        match looked {
            Ok(Looked::Idle) => LOOK,
            Ok(Looked::Renewed) => {
                self.said = None;
                LOOK
            }
            Ok(Looked::Lost) => RECOVER,
            Ok(Looked::Kept(reason)) => {
                if self.said.as_ref() != Some(&reason) {
                    tracing::info!(reason, "The token for the hub is not renewed");
                    self.said = Some(reason);
                }
                LOOK
            }
            Err(error) => {
                self.failures = failures.saturating_add(1);
                self.results.with_label_values(&["failed"]).inc();
                if self.said.as_ref() == Some(&error) {
                    tracing::debug!(error, "Cannot renew the token for the hub");
                } else {
                    tracing::warn!(error, "Cannot renew the token for the hub");
                    self.said = Some(error);
                }
                let pause = LOOK.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
                // Members whose tokens were issued together do not ask together for ever.
                pause.mul_f64(1.0 + fastrand::f64() / 2.0)
            }
        }
    }

    fn clocks(&self) -> Clocks {
        Clocks::of(&self.credential, &self.clock)
    }

    fn known(&self) -> Known {
        let issuer = self.issued.and_then(|(time, then)| {
            time.saturating_add(self.boot.now().saturating_sub(then)).ok()
        });
        Known {
            clocks: self.clocks(),
            issuer,
            is_rejected: self.credential.is_rejected(),
            leads: self.gate.check().is_ok(),
        }
    }

    async fn look(&mut self) -> Result<Looked, String> {
        if self.credential.is_awaited() {
            return self.recover("").await;
        }
        let Some(token) = self.credential.token() else {
            return Ok(Looked::Kept("it is not that of a file".to_owned()));
        };
        let claims = Claims::of(&token);
        match (action(claims.as_ref(), &self.known(), &self.settings), claims) {
            (Action::Renew, Some(claims)) => match self.renew(&token, &claims).await {
                // The request has shown that it is no good.
                Err(_) if self.credential.is_rejected() => self.recover(&token).await,
                renewed => renewed,
            },
            (Action::Recover, _) => self.recover(&token).await,
            (Action::Keep(why), _) => Ok(Looked::Kept(why.to_string())),
            (Action::Wait | Action::Renew, _) => Ok(Looked::Idle),
        }
    }

    /// Takes the token of the Secret, if it is another one: a file that is mounted from it shows it a minute later.
    async fn recover(&self, token: &str) -> Result<Looked, String> {
        let Ok((_, stored)) = self.stored().await else { return Ok(Looked::Lost) };
        let is_good = Claims::of(&stored)
            .is_some_and(|claims| claims.expires.is_none_or(|at| !self.clocks().both_are_past(at)));
        if stored == token || !is_good {
            return Ok(Looked::Lost);
        }
        self.take(&stored);
        Ok(Looked::Renewed)
    }

    fn take(&self, token: &str) {
        self.credential.replace(token);
        tracing::info!(secret = %self.secret, "Took the token for the hub from its Secret");
    }

    async fn renew(&mut self, token: &str, claims: &Claims) -> Result<Looked, String> {
        let (secret, stored) = self.stored().await?;
        if stored != token {
            // Another process has renewed it, or a user has replaced it.
            let better = Claims::of(&stored).filter(|stored| outlives(stored, claims));
            better.ok_or("the Secret has another token, which does not expire later")?;
            self.take(&stored);
            return Ok(Looked::Renewed);
        }
        let account = claims.account.as_ref().ok_or("it names no ServiceAccount")?;
        let new =
            self.request(account).await.map_err(|error| format!("request a token: {error}"))?;
        let of_new = Claims::of(&new);
        let issued = of_new.as_ref().and_then(|claims| issued(claims, &self.settings));
        self.issued = issued.map(|issued| (issued, self.boot.now()));
        let proved = replaces(of_new.as_ref(), claims, &self.settings);
        proved.map_err(|reason| format!("the new token is not used: {reason}"))?;
        let proved = self.prove(&new).await;
        proved.map_err(|error| format!("the hub does not accept the new token: {error}"))?;
        let secret = self.secret.with_token(secret, &new);
        let path = format!("{}?fieldManager=member-agent", self.secret.path());
        let put = build(Method::PUT, &path, Some(&secret))?;
        let stored = send(&self.own, self.gated(put)).await;
        stored.map_err(|error| format!("write the Secret {}: {error}", self.secret))?;
        self.credential.replace(&new);
        self.results.with_label_values(&["renewed"]).inc();
        let expires = of_new.and_then(|claims| claims.expires).map(tracing::field::display);
        tracing::info!(expires, "Renewed the token for the hub");
        Ok(Looked::Renewed)
    }

    /// The Secret, and the token in it.
    async fn stored(&self) -> Result<(serde_json::Value, String), String> {
        let get = build(Method::GET, &self.secret.path(), None)?;
        let secret = send(&self.own, get).await;
        let secret = secret.map_err(|error| format!("read the Secret {}: {error}", self.secret))?;
        let token = self.secret.token_in(&secret);
        let token = token.ok_or_else(|| format!("the Secret {} has no token", self.secret))?;
        Ok((secret, token))
    }

    async fn request(&self, account: &Account) -> Result<String, String> {
        let Account { namespace, name } = account;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {
                "audiences": self.settings.audiences,
                "expirationSeconds": self.settings.lifetime.as_secs(),
            },
        });
        let post = build(Method::POST, &path, Some(&body))?;
        let answer = send(&self.hub, self.gated(post)).await?;
        let token = answer["status"]["token"].as_str().filter(|token| !token.is_empty());
        Ok(token.ok_or("the answer has none")?.to_owned())
    }

    /// Sends the token once, beside the one in use.
    async fn prove(&self, token: &str) -> Result<(), String> {
        let mut get = build(Method::GET, PROOF, None)?;
        self.credential.try_token(token, &mut get)?;
        send(&self.hub, get).await.map(drop)
    }

    /// A write is not sent once another process may lead.
    fn gated<B>(&self, mut request: http::Request<B>) -> http::Request<B> {
        request.extensions_mut().insert(self.gate.clone());
        request
    }
}
