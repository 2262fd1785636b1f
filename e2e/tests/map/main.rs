//! The map in a real browser: Debian's Chromium. One page in `make test`, everything else in `make map-test`. Times are printed, and
//! judged by who reads them: they depend on what else the machine does.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy takes only #[test] functions for tests"
)]

mod axe;
mod browser;
mod program;
mod recorded;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::merged_kubeconfig;
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::process::is_ci;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use serde_json::json;

use browser::{Browser, PATIENCE};
use program::Map;

/// Where pages of the documentation have their pictures.
const PICTURES: &str = "docs/map";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The program lies beside the tests' folder. Times and memory count for a program that is optimized, which `FLEETCTL` names.
fn fleetctl() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("FLEETCTL") {
        return Ok(program.into());
    }
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).context("a folder of programs")?;
    let program = folder.join("fleetctl");
    ensure!(program.is_file(), "{} is missing; `cargo build --bins` makes it", program.display());
    Ok(program)
}

/// A folder that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("fleet-map-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A recording of a small fleet, and what shows it.
async fn replayed(name: &str) -> Result<(Map, Folder)> {
    let folder = Folder::new(name)?;
    let recording = recorded::record(&folder.0, 4, 6)?;
    let path = recording.to_str().context("a path")?;
    Ok((Map::start(&fleetctl()?, &["--replay", path]).await?, folder))
}

/// Without a browser, in every `make test`, whatever is installed: the page is complete HTML, and who has no token gets nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_loads() {
    let (map, _folder) = replayed("page").await.unwrap();
    let (code, page) = fleet_testbed::plain_http::get(&map.url).await.unwrap();
    assert_eq!(code, 200);
    for part in ["id=\"map\"", "shop/web-0000", "member-000", "end of the recording"] {
        assert!(page.contains(part), "{part:?} is not in: {page}");
    }
    let (address, _) = map.url.trim_end_matches('/').rsplit_once('/').unwrap();
    for path in ["/", "/events", "/0123456789abcdef/"] {
        let (code, text) =
            fleet_testbed::plain_http::get(&format!("{address}{path}")).await.unwrap();
        assert_eq!((code, text.as_str()), (404, ""), "{path}");
    }
    if browser::is_installed() {
        let browser = Browser::start("light", true).await.unwrap();
        let time = browser.open(&map.url).await.unwrap();
        let shown =
            browser.until("document.querySelectorAll('#map .node').length > 6").await.unwrap();
        println!("page of a recording: loaded in {time:?}, complete after {shown:?} more");
        browser.end().await.unwrap();
    } else {
        println!("SKIPPED: chromium and chromium-driver are not installed");
    }
    map.end().await.unwrap();
}

/// The only request of a page is to the program.
const REQUESTS: &str = "performance.getEntriesByType('resource').every((entry) => entry.name.startsWith(location.origin))";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make map-test"]
async fn a_recording_is_shown_changed_and_tried() {
    let (map, _folder) = replayed("replay").await.unwrap();
    let browser = Browser::start("light", true).await.unwrap();
    let result = recording(&browser, &map).await;
    browser.end().await.unwrap();
    map.end().await.unwrap();
    result.unwrap();
}

async fn recording(browser: &Browser, map: &Map) -> Result<()> {
    browser.open(&map.url).await?;
    browser.until("document.body.classList.contains('scripted')").await?;
    // A click selects without a new page, and the address has it.
    browser.run("window.kept = true; document.getElementById('s-shop/web-0000').dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))").await?;
    let click = browser
        .until("document.querySelector('#panel h2')?.textContent === 'shop/web-0000'")
        .await?;
    browser
        .until("location.search.includes('sel=service:shop/web-0000') && window.kept === true")
        .await?;
    println!("a click is shown after {click:?}");
    // Back and forth in time.
    browser.run("document.getElementById('earlier').click()").await?;
    browser
        .until("location.search.includes('at=0') && !document.getElementById('earlier')")
        .await?;
    browser.run("history.back()").await?;
    browser.until("!!document.getElementById('earlier')").await?;
    // What if a cluster is lost, and drained.
    browser.run("const list = document.querySelector('select[name=whatif]'); list.value = 'lose:member-001'; list.dispatchEvent(new Event('change', { bubbles: true }))").await?;
    browser
        .until("document.getElementById('what-if')?.textContent.includes('lose member-001')")
        .await?;
    let lost = browser.text().await?;
    ensure!(lost.contains("Silent"), "the lost member is silent: {lost}");
    browser.run("const list = document.querySelector('select[name=whatif]'); list.value = 'drain:member-001'; list.dispatchEvent(new Event('change', { bubbles: true }))").await?;
    browser.until("document.getElementById('what-if')?.textContent.includes('no MemberTraffic member-001')").await?;
    // Commands can be copied.
    browser.until("document.querySelectorAll('[data-copy]:not([hidden])').length > 0").await?;
    ensure!(
        browser.run(&format!("return {REQUESTS}")).await? == json!(true),
        "no request leaves the machine"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make map-test"]
async fn keys_are_enough() {
    let (map, _folder) = replayed("keys").await.unwrap();
    let browser = Browser::start("light", true).await.unwrap();
    let result = keys(&browser, &map).await;
    browser.end().await.unwrap();
    map.end().await.unwrap();
    result.unwrap();
}

async fn keys(browser: &Browser, map: &Map) -> Result<()> {
    const ENTER: &str = "\u{e007}";
    const ESCAPE: &str = "\u{e00c}";
    const TAB: &str = "\u{e004}";
    browser.open(&map.url).await?;
    browser.until("document.body.classList.contains('scripted')").await?;
    browser.press(&["/"]).await?;
    browser.until("document.activeElement.id === 'search'").await?;
    browser.press(&["w", "e", "b", "-", "0", "0", "0", "1"]).await?;
    browser.until("document.querySelectorAll('#services [id^=\"s-\"]').length === 1").await?;
    browser.press(&[ESCAPE]).await?;
    browser.until("document.activeElement === document.body").await?;
    let kept = browser.run("return document.getElementById('search').value").await?;
    ensure!(kept == json!("web-0001"), "Escape leaves the search, and keeps it: {kept}");
    browser.press(&["j", ENTER]).await?;
    browser.until("document.querySelector('#panel h2')?.textContent === 'team/web-0001'").await?;
    browser.press(&[ESCAPE]).await?;
    browser.until("!document.querySelector('#panel h2')").await?;
    // From change to change.
    browser.open(&format!("{}?at=0", map.url)).await?;
    browser.until("document.body.classList.contains('scripted')").await?;
    browser.press(&["]"]).await?;
    browser.until("location.search.includes('at=1') && !document.getElementById('later')").await?;
    // Everything that does something can be reached.
    browser.open(&map.url).await?;
    browser.press(&[TAB]).await?;
    browser.until("document.activeElement.className === 'skip'").await?;
    let count = "document.querySelectorAll('a[href], button:not([hidden]), input:not([type=hidden]), select').length";
    let all = browser.run(&format!("return {count}")).await?.as_u64().context("a number")?;
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..all + 2 {
        let here = "return document.activeElement.outerHTML.slice(0, 300)";
        reached.insert(browser.run(here).await?.to_string());
        browser.press(&[TAB]).await?;
    }
    ensure!(reached.len() as u64 >= all, "{} of {all} can be reached by Tab", reached.len());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make map-test"]
async fn scripts_are_not_needed() {
    let (map, _folder) = replayed("plain").await.unwrap();
    let browser = Browser::start("light", false).await.unwrap();
    let result = plain(&browser, &map).await;
    browser.end().await.unwrap();
    map.end().await.unwrap();
    result.unwrap();
}

/// Everything is a link or a form, so that its address shows it.
async fn plain(browser: &Browser, map: &Map) -> Result<()> {
    for (query, words) in [
        ("", &["shop/web-0000", "member-000", "Show", "Reload"][..]),
        ("?sel=service:shop/web-0000", &["exported by", "fleetctl explain service shop/web-0000"]),
        ("?q=web-0001", &["team/web-0001"]),
        ("?whatif=lose:member-001", &["This is the fleet after lose member-001"]),
        ("?at=0", &["later", "next change"]),
    ] {
        browser.open(&format!("{}{query}", map.url)).await?;
        let text = browser.text().await?;
        for word in words {
            ensure!(text.contains(word), "{query}: {word:?} is not in: {text}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make map-test"]
async fn the_page_is_for_everybody() {
    let (map, folder) = replayed("axe").await.unwrap();
    // CI changes nothing in its checkout.
    let pictures = if is_ci() { folder.0.clone() } else { repository(PICTURES) };
    std::fs::create_dir_all(&pictures).unwrap();
    for colours in ["light", "dark"] {
        let browser = Browser::start(colours, true).await.unwrap();
        let result = everybody(&browser, &map, colours, &pictures).await;
        browser.end().await.unwrap();
        result.unwrap();
    }
    map.end().await.unwrap();
}

async fn everybody(browser: &Browser, map: &Map, colours: &str, pictures: &Path) -> Result<()> {
    for query in [
        "?at=0",
        "?sel=service:shop/web-0000",
        "?whatif=lose:member-001&sel=member:member-002",
        "?q=nothing",
    ] {
        browser.open(&format!("{}{query}&theme={colours}", map.url)).await?;
        browser.until("document.body.classList.contains('scripted')").await?;
        let found = axe::violations(browser).await?;
        ensure!(found.is_empty(), "{colours} {query}: {found:#?}");
        if query.starts_with("?sel") {
            browser.picture(&pictures.join(format!("map-{colours}.png"))).await?;
        }
    }
    Ok(())
}

/// More than twice what a build without optimization takes for that fleet.
const MOST_MIB: u64 = 400;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make map-test"]
async fn a_large_fleet_is_shown_in_little_memory() {
    let folder = Folder::new("large").unwrap();
    let began = Instant::now();
    let recording = recorded::record(&folder.0, 100, 2000).unwrap();
    println!(
        "recorded in {:?}, {} MiB",
        began.elapsed(),
        recording.metadata().unwrap().len() >> 20
    );
    let (program, began) = (fleetctl().unwrap(), Instant::now());
    let map = Map::start(&program, &["--replay", recording.to_str().unwrap()]).await.unwrap();
    println!("{} has read it after {:?}", program.display(), began.elapsed());
    let browser = Browser::start("light", true).await.unwrap();
    let result = large(&browser, &map).await;
    let [now, own, peak] = ["VmRSS", "RssAnon", "VmHWM"].map(|line| map.mib(line).unwrap());
    println!("memory of fleetctl: {now} MiB, of which {own} not of its file; {peak} MiB at most");
    browser.end().await.unwrap();
    map.end().await.unwrap();
    result.unwrap();
    assert!(peak < MOST_MIB, "fleetctl takes {peak} MiB");
}

async fn large(browser: &Browser, map: &Map) -> Result<()> {
    println!("100 members, 2000 Services:");
    for (what, query) in [
        ("first page", ""),
        ("again", ""),
        ("its second page", "?page=1"),
        ("a Service", "?sel=service:shop/web-0000"),
    ] {
        let loaded = browser.open(&format!("{}{query}", map.url)).await?;
        let paint = browser.first_paint().await?;
        println!("  {what}: first paint after {paint:.0} ms, loaded in {loaded:?}");
    }
    browser.open(&map.url).await?;
    browser.until("document.querySelectorAll('#matrix tbody tr').length > 40").await?;
    // Once: who asks again finds it.
    let began = Instant::now();
    let other = format!("{}?at=0", map.url);
    wait_until("another moment is computed", PATIENCE * 30, async || {
        Ok(fleet_testbed::plain_http::get(&other).await.is_ok_and(|(code, _)| code == 200))
    })
    .await?;
    let other = began.elapsed();
    println!("  another moment is computed in {other:?}");
    let found = axe::violations(browser).await?;
    ensure!(found.is_empty(), "matrix: {found:#?}");
    browser.until("document.body.classList.contains('scripted')").await?;
    for row in 0..5 {
        let click =
            browser.clicked(&format!("#matrix tbody tr:nth-child({}) th a", row + 2)).await?;
        println!("  a click is shown after {click:.0} ms");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make map-test"]
async fn a_fleet_is_followed() {
    let testbed = Testbed::start(Options::members(2).without_audit()).await.unwrap();
    let result = followed(&testbed).await;
    testbed.explain(result).await.unwrap();
}

async fn followed(testbed: &Testbed) -> Result<()> {
    let mut agents = Agents::prepare(testbed, &AgentOptions::default())?;
    for agent in [Agent::Hub, Agent::Member(0), Agent::Member(1)] {
        agents.launch(agent)?;
    }
    testbed.user_namespace("team").await?;
    let (east, west) = (testbed.member(0), testbed.member(1));
    let first = vec![next_address()];
    let web = ManualService::deploy(east, &ServiceSpec::http("team", "web"), &first).await?;
    export(east, "team", "web").await?;
    import(west, "team", "web", "web").await?;
    wait_imported(west, "team", "web", &first.iter().cloned().collect(), PATIENCE * 6).await?;

    let names = [(testbed.hub(), "hub"), (east, "member-1"), (west, "member-2")];
    let kubeconfig = testbed.run_path().join("map.kubeconfig");
    std::fs::write(&kubeconfig, serde_json::to_string(&merged_kubeconfig(&names)?)?)?;
    let path = kubeconfig.to_str().context("a path")?;
    let map = Map::start(&fleetctl()?, &["--kubeconfig", path]).await?;
    let browser = Browser::start("light", true).await?;
    let result = async {
        let time = browser.open(&map.url).await?;
        let shown = browser.until("!!document.getElementById('s-team/web')").await?;
        println!("page of a real fleet: loaded in {time:?}, complete after {shown:?} more");
        browser.until("document.getElementById('e-export:team/web:member-1')?.textContent.includes('1 ready')").await?;
        let more = vec![first[0].clone(), next_address(), next_address()];
        let began = Instant::now();
        web.set_addresses(&more).await?;
        let written = began.elapsed();
        browser.until("document.getElementById('e-import:team/web:member-2')?.textContent.includes('100 %') && document.getElementById('e-export:team/web:member-1').textContent.includes('3 ready')").await?;
        println!("a scale shows after {:?}, of which the write took {written:?}", began.elapsed());
        browser.run("const list = document.querySelector('select[name=whatif]'); list.value = 'lose:member-1'; list.dispatchEvent(new Event('change', { bubbles: true }))").await?;
        browser.until("document.getElementById('what-if')?.textContent.includes('Left without endpoints: team/web')").await?;
        Ok(())
    };
    let result = result.await;
    browser.end().await?;
    map.end().await?;
    result
}
