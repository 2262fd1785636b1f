//! A Chromium without a window, driven through Debian's chromedriver: the few commands that the tests need, since a crate for all
//! of them would bring thirty others.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fleet_testbed::plain_http::{get, post_json};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Longest time until something shows.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// The driver, and the browser as its child.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    folder: PathBuf,
}

/// Whether Debian's packages are there.
pub(crate) fn is_installed() -> bool {
    ["/usr/bin/chromium", "/usr/bin/chromedriver"].iter().all(|path| Path::new(path).exists())
}

impl Browser {
    /// A browser that prefers these colours, `light` or `dark`, and runs scripts or not.
    pub(crate) async fn start(colours: &str, scripts: bool) -> Result<Self> {
        let folder = std::env::temp_dir()
            .join(format!("fleet-map-{}-{colours}-{scripts}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let mut driver = Command::new("/usr/bin/chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .context("start chromedriver: apt-get install chromium chromium-driver")?;
        let mut lines = BufReader::new(driver.stdout.take().context("its output")?).lines();
        let port = loop {
            let line = lines.next_line().await?.context("chromedriver ended")?;
            if let Some((_, rest)) = line.split_once("started successfully on port ") {
                break rest.trim_end_matches('.').to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            // Its own command for that does not return.
            "--window-size=1440,1000".to_owned(),
            format!("--user-data-dir={}", folder.display()),
            // Nothing but the page may be asked.
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
                .to_owned(),
        ];
        if colours == "dark" {
            arguments.push("--force-dark-mode".to_owned());
        }
        let preferences = if scripts {
            json!({})
        } else {
            json!({ "profile.managed_default_content_settings.javascript": 2 })
        };
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": "/usr/bin/chromium", "args": arguments, "prefs": preferences },
        }}});
        let base = format!("http://127.0.0.1:{port}/session");
        let began = sent(&base, &wanted).await?;
        let id = began["sessionId"].as_str().context("a session")?;
        Ok(Self { driver, session: format!("{base}/{id}"), folder })
    }

    /// Loads a page, and returns the time that this took.
    pub(crate) async fn open(&self, url: &str) -> Result<Duration> {
        let began = Instant::now();
        self.post("url", &json!({ "url": url })).await?;
        Ok(began.elapsed())
    }

    /// Runs a script in the page, and returns what it returns.
    pub(crate) async fn run(&self, script: &str) -> Result<Value> {
        self.post("execute/sync", &json!({ "script": script, "args": [] })).await
    }

    /// The same for one that calls its last argument.
    pub(crate) async fn run_async(&self, script: &str) -> Result<Value> {
        self.post("execute/async", &json!({ "script": script, "args": [] })).await
    }

    /// The text of all of the page.
    pub(crate) async fn text(&self) -> Result<String> {
        let element =
            self.post("element", &json!({ "using": "css selector", "value": "body" })).await?;
        let id = element.as_object().and_then(|it| it.values().next()).and_then(Value::as_str);
        let (code, body) =
            get(&format!("{}/element/{}/text", self.session, id.context("a body")?)).await?;
        Ok(value(code, &body)?.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the script returns true, and returns the time that this took.
    pub(crate) async fn until(&self, script: &str) -> Result<Duration> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.run(&format!("return {script}")).await? == json!(true) {
                return Ok(began.elapsed());
            }
            tokio::time::sleep(LOOK).await;
        }
        let text = self.text().await.unwrap_or_default();
        bail!("not within {PATIENCE:?}: {script}\n{text}")
    }

    /// Milliseconds from the begin of the last load until the browser has painted something of the page.
    pub(crate) async fn first_paint(&self) -> Result<f64> {
        const PAINT: &str = "performance.getEntriesByName('first-contentful-paint')[0]";
        self.until(&format!("!!{PAINT}")).await?;
        self.run(&format!("return {PAINT}.startTime")).await?.as_f64().context("a time")
    }

    /// Milliseconds from a click until the browser has drawn a panel that is another one, as the page itself counts them.
    pub(crate) async fn clicked(&self, selector: &str) -> Result<f64> {
        let script = "const done = arguments[0];
            const title = () => document.querySelector('#panel h2')?.textContent;
            const [began, before] = [performance.now(), title()];
            const observer = new MutationObserver(() => {
                if (!title() || title() === before) return;
                observer.disconnect();
                requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
            });
            observer.observe(document.body, { childList: true, subtree: true, characterData: true });
            document.querySelector('SELECTOR').click();";
        let taken = self.run_async(&script.replace("SELECTOR", selector)).await?;
        taken.as_f64().context("a time")
    }

    /// Presses keys, one after the other.
    pub(crate) async fn press(&self, keys: &[&str]) -> Result<()> {
        let each = |key: &&str| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<_> = keys.iter().flat_map(each).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("actions", &json!({ "actions": [keyboard] })).await.map(drop)
    }

    /// Keeps a picture of what is shown.
    pub(crate) async fn picture(&self, path: &Path) -> Result<()> {
        let (code, body) = get(&format!("{}/screenshot", self.session)).await?;
        let image = value(code, &body)?;
        std::fs::write(path, STANDARD.decode(image.as_str().context("a picture")?)?)?;
        Ok(())
    }

    async fn post(&self, command: &str, body: &Value) -> Result<Value> {
        sent(&format!("{}/{command}", self.session), body).await.context(command.to_owned())
    }

    /// Ends it, with all processes of the browser.
    pub(crate) async fn end(mut self) -> Result<()> {
        if let Some(group) = self.driver.id().and_then(|id| i32::try_from(id).ok()) {
            let group = rustix::process::Pid::from_raw(group).context("a process")?;
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        self.driver.wait().await?;
        std::fs::remove_dir_all(&self.folder).ok();
        Ok(())
    }
}

async fn sent(url: &str, body: &Value) -> Result<Value> {
    let (code, text) = post_json(url, body).await?;
    value(code, &text)
}

fn value(code: u16, body: &str) -> Result<Value> {
    let answer: Value = serde_json::from_str(body).with_context(|| format!("{code}: {body}"))?;
    ensure!(code == 200, "{code}: {}", answer["value"]["message"]);
    Ok(answer["value"].clone())
}
