use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

fn args(metrics: &str, health: &str) -> Addresses {
    Addresses {
        metrics: vec![("--metrics-bind-address", metrics.to_owned())],
        health: vec![("--health-probe-bind-address", health.to_owned())],
    }
}

fn well() -> Probes {
    Probes::new(Vec::new, Vec::new)
}

async fn bind(addresses: &Addresses) -> Result<AdminServer, AdminError> {
    AdminServer::bind(addresses, Registry::new(), well()).await
}

/// Status line and body of one request.
async fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let text = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn probes_and_metrics_have_an_address_each() {
    let registry = Registry::new();
    let gauge = prometheus::IntGauge::new("apples", "Apples.").unwrap();
    registry.register(Box::new(gauge)).unwrap();
    let args = args("127.0.0.1:0", "127.0.0.1:0");
    let server = AdminServer::bind(&args, registry, well()).await.unwrap();
    let metrics = server.metrics_address().unwrap();
    let health = server.health_address().unwrap();
    let cancel = CancellationToken::new();
    let task = tokio::spawn(server.run(cancel.clone()));

    assert!(ask(metrics, "GET /metrics").await.1.contains("apples 0"));
    assert_eq!(ask(metrics, "GET /livez").await.0, "HTTP/1.1 404 Not Found");
    assert_eq!(ask(health, "GET /metrics").await.0, "HTTP/1.1 404 Not Found");
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(ask(health, &format!("GET {path}")).await.0, "HTTP/1.1 200 OK", "{path}");
    }
    assert_eq!(ask(health, "POST /livez").await.0, "HTTP/1.1 405 Method Not Allowed");

    cancel.cancel();
    task.await.unwrap();
    assert!(TcpStream::connect(health).await.is_err());
}

#[tokio::test]
async fn whoever_is_wedged_is_not_alive_and_whoever_waits_is() {
    let stuck = || vec!["exports: no turn".to_owned()];
    for (probes, livez, readyz) in [
        (Probes::new(Vec::new, stuck), "HTTP/1.1 503 Service Unavailable", "HTTP/1.1 200 OK"),
        (Probes::new(stuck, Vec::new), "HTTP/1.1 200 OK", "HTTP/1.1 503 Service Unavailable"),
    ] {
        let args = args("0", "127.0.0.1:0");
        let server = AdminServer::bind(&args, Registry::new(), probes).await.unwrap();
        let health = server.health_address().unwrap();
        tokio::spawn(server.run(CancellationToken::new()));
        assert_eq!(ask(health, "GET /livez").await.0, livez);
        assert_eq!(ask(health, "GET /healthz").await.0, livez);
        assert_eq!(ask(health, "GET /readyz").await.0, readyz);
    }
}

#[tokio::test]
async fn readiness_says_what_is_waited_for() {
    let ready = Arc::new(AtomicBool::new(false));
    let args = args("0", "127.0.0.1:0");
    let blocking = {
        let ready = Arc::clone(&ready);
        move || {
            let reasons = ["hub is away", "no token"].map(str::to_owned);
            if ready.load(Ordering::Relaxed) { Vec::new() } else { reasons.to_vec() }
        }
    };
    let server =
        AdminServer::bind(&args, Registry::new(), Probes::new(blocking, Vec::new)).await.unwrap();
    assert_eq!(server.metrics_address(), None);
    let health = server.health_address().unwrap();
    tokio::spawn(server.run(CancellationToken::new()));

    let (status, body) = ask(health, "GET /readyz").await;
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(body, "hub is away\nno token\n");
    ready.store(true, Ordering::Relaxed);
    assert_eq!(ask(health, "GET /readyz").await.0, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn one_address_can_serve_both() {
    let address = format!("127.0.0.1:{}", free_port());
    let server = bind(&args(&address, &address)).await.unwrap();
    assert_eq!(server.metrics_address(), server.health_address());
    let at = server.health_address().unwrap();
    tokio::spawn(server.run(CancellationToken::new()));
    assert_eq!(ask(at, "GET /metrics").await.0, "HTTP/1.1 200 OK");
    assert_eq!(ask(at, "GET /livez").await.0, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn a_taken_port_is_one_line_with_the_flag() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = bind(&args("0", &address)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot listen on {address} (--health-probe-bind-address): address already in use")
    );
}

#[tokio::test]
async fn a_port_taken_on_all_addresses_is_noticed() {
    let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = bind(&args(&format!(":{port}"), "0")).await.unwrap_err();
    let expected =
        format!("cannot listen on :{port} (--metrics-bind-address): address already in use");
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn text_that_is_no_address_is_refused() {
    for text in ["8080", "host", "host:", "host:99999"] {
        let error = bind(&args(text, "0")).await.unwrap_err().to_string();
        assert!(error.starts_with("--metrics-bind-address: "), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_sends_no_headers_is_dropped() {
    let server = bind(&args("0", "127.0.0.1:0")).await.unwrap();
    let health = server.health_address().unwrap();
    tokio::spawn(server.run(CancellationToken::new()));
    let mut stream = TcpStream::connect(health).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn several_flags_may_name_the_same_address_and_others() {
    let (first, second) =
        (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let mut addresses = args(&first, "0");
    for (flag, text) in
        [("--hub-metrics-bind-address", &first), ("--member-metrics-bind-address", &second)]
    {
        addresses.metrics.push((flag, text.clone()));
    }
    let server = bind(&addresses).await.unwrap();
    assert_eq!(server.metrics_address().unwrap().to_string(), first);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(server.run(cancel.clone()));
    for address in [first, second] {
        assert_eq!(ask(address.parse().unwrap(), "GET /metrics").await.0, "HTTP/1.1 200 OK");
    }
    cancel.cancel();
    task.await.unwrap();
}
