//! Credentials appear neither in the log nor in the metrics.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

const SECRETS: [&str; 5] =
    ["canary-hub-token", "canary-own-token", "canary-header", "canary-proxy", "Y2FuYXJ5LWtleQ=="];

/// Of a hub that exists in this test only, valid for a hundred years.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBiDCCAS6gAwIBAgIURdamh4/tRS0Q5OymYb2npbYwjTAwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFZmxlZXQwIBcNMjYxMTIzMDkxOTU5WhgPMjEyNjEwMzAwOTE5
NTlaMBAxDjAMBgNVBAMMBWZsZWV0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
PIWfzrdk+lEo9uIB20cBZr2G3l8VErwEypBlrolT3p+x3jmDrOq07YP89efqxlUJ
iS6UpzGWdbp48/R8Iu50iKNkMGIwHQYDVR0OBBYEFE8b3R8zdomGqc0a9acDNWMZ
sJIZMB8GA1UdIwQYMBaAFE8b3R8zdomGqc0a9acDNWMZsJIZMA8GA1UdEwEB/wQF
MAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNIADBFAiB36pJcUqJE
D8I6KJug3mSCYobke0Byhmb46ZumIWJ2XQIhALTWKYjH2Bs04OT0iUANwi2XCaw7
A/pIjLGiy33qOaeb
-----END CERTIFICATE-----
";
const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgMuqq3Aze3TM8DDN5
LDmAzBt7QRYReYrWiaLr+ROe1VyhRANCAAQ8hZ/Ot2T6USj24gHbRwFmvYbeXxUS
vATKkGWuiVPen7HeOYOs6rTtg/z15+rGVQmJLpSnMZZ1unjz9Hwi7nSI
-----END PRIVATE KEY-----
";

fn own(user: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Config, current-context: own,
          contexts: [{{name: own, context: {{cluster: own, user: own}}}}],
          clusters: [{{name: own, cluster: {{
            server: 'http://127.0.0.1:1', proxy-url: 'http://me:canary-proxy@127.0.0.1:1'}}}}],
          users: [{{name: own, user: {{{user}}}}}]}}"
    )
}

fn file(name: &str, content: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A hub that refuses every request and passes on what was asked.
fn hub() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (send, asked) = channel();
    let config = Arc::new(tls());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let mut head = Vec::new();
            let mut part = [0; 4096];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut part) {
                    Ok(length @ 1..) => head.extend_from_slice(&part[..length]),
                    _ => break,
                }
            }
            let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n";
            let _ = write!(stream, "{refusal}\r\n");
            stream.conn.send_close_notify();
            let _ = stream.flush();
            let _ = send.send(String::from_utf8_lossy(&head).into_owned());
        }
    });
    (url, asked)
}

/// How the hub encrypts.
fn tls() -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    builder.with_single_cert(vec![certificate], key).unwrap()
}

/// Ends the program, however the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port of this machine that nothing listens on.
fn free_address() -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().to_string()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn metrics(address: &str) -> String {
    let text = get(address, "/metrics");
    assert!(text.contains("fleet_hub_tls_insecure"), "{text}");
    text
}

/// What the agent is not ready for, once that has these words.
fn readiness(address: &str, words: &str) -> String {
    for _ in 0..600 {
        let text = get(address, "/readyz");
        if text.contains(words) {
            return text;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("not ready for another reason: {}", get(address, "/readyz"));
}

#[track_caller]
fn contains_no_secret(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in\n{text}");
    }
}

/// S30: what is sent to the hub stays out of the log and the metrics.
#[test]
fn credentials_are_sent_and_never_shown() {
    let (url, asked) = hub();
    let kubeconfig = file("secrets-own", &own("token: canary-own-token"));
    let token = file("secrets-token", "canary-hub-token");
    let output = file("secrets-output", "");
    let address = free_address();

    let log = File::create(&output).unwrap();
    let running = Running(
        Command::new(env!("CARGO_BIN_EXE_member-agent"))
            .env_clear()
            .args(["--metrics-bind-address", &address, "--health-probe-bind-address", "0"])
            .args(["--log-level", "trace", "--tls-insecure", "--kubeconfig"])
            .arg(&kubeconfig)
            .envs([("HUB_SERVER_URL", url.as_str()), ("HUB_KUBE_HEADER", "X-Key: canary-header")])
            .envs([("CONFIG_PATH", token.to_str().unwrap()), ("MEMBER_CLUSTER_NAME", "east")])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap(),
    );
    let request = asked.recv_timeout(Duration::from_mins(1)).expect("the hub is asked");
    assert!(request.contains("canary-hub-token") && request.contains("canary-header"), "{request}");
    // The second request comes after the refusal of the first was received and logged.
    asked.recv_timeout(Duration::from_mins(1)).expect("the hub is asked again");
    contains_no_secret(&metrics(&address));
    drop(running);
    let said = std::fs::read_to_string(&output).unwrap();
    assert!(said.contains("Started"), "{said}");
    assert!(said.contains("Proxies are not supported"), "{said}");
    contains_no_secret(&said);
}

/// S30: a key that cannot be read is not shown either.
#[test]
fn an_invalid_key_is_not_shown() {
    let user = "client-certificate-data: Y2FuYXJ5LWtleQ==, client-key-data: Y2FuYXJ5LWtleQ==";
    let kubeconfig = file("secrets-key", &own(user).replace("http:", "https:"));
    let output = Command::new(env!("CARGO_BIN_EXE_member-agent"))
        .env_clear()
        .args(["--metrics-bind-address=0", "--health-probe-bind-address=0", "--kubeconfig"])
        .arg(&kubeconfig)
        .envs([("HUB_SERVER_URL", "https://127.0.0.1:1"), ("CONFIG_PATH", "/nonexistent")])
        .env("MEMBER_CLUSTER_NAME", "east")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("member-agent: "), "{said}");
    contains_no_secret(&said);
    assert!(!said.contains("canary-key"), "{said}");
}

/// S30: nor a token that a kubeconfig has in the field for the path of one. The agent waits for the file, and works without the hub.
#[test]
fn a_token_where_a_path_belongs_is_not_shown() {
    let own_cluster = file("secrets-waits-own", &own("token: canary-own-token"));
    let to_hub = own("tokenFile: canary-hub-token").replace("http:", "https:");
    let to_hub = file("secrets-waits-hub", &to_hub);
    let address = free_address();
    let mut agent = Running(
        Command::new(env!("CARGO_BIN_EXE_member-agent"))
            .env_clear()
            .env("MEMBER_CLUSTER_NAME", "east")
            .env("HUB_KUBECONFIG", &to_hub)
            .args(["--metrics-bind-address=0", "--health-probe-bind-address", &address])
            .arg("--kubeconfig")
            .arg(&own_cluster)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(agent.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let waits = |line: &String| line.contains("Waiting for the token file");
    let said = lines.by_ref().inspect(|line| contains_no_secret(line)).find(waits).unwrap();
    assert!(said.contains("tokenFile of the kubeconfig"), "{said}");
    contains_no_secret(&readiness(&address, "no token yet in tokenFile of the kubeconfig"));
    drop(agent);
    lines.for_each(|line| contains_no_secret(&line));
}

/// S30: nor what a kubeconfig that cannot be read contains, nor the password in an address.
#[test]
fn what_is_refused_is_not_shown() {
    let broken = file(
        "secrets-broken",
        "users: [{name: hub, user: {token: canary-hub-token}}]\nusers: [canary-hub-token\n",
    );
    let open = own("token: canary-hub-token").replace("//127", "//me:canary-proxy@127");
    let open = file("secrets-open", &open);
    let good = file("secrets-good", &own("token: canary-own-token"));
    let to = |path: &Path| ("HUB_KUBECONFIG", path.to_str().unwrap().to_owned());
    for (variable, reason) in [
        (to(&broken), "this is no kubeconfig"),
        (to(&open), "http://127.0.0.1:1/ is not encrypted"),
        (
            ("HUB_SERVER_URL", "http://me:canary-proxy@hub".to_owned()),
            "http://hub/ is not encrypted",
        ),
        (("HUB_SERVER_URL", "https://me:canary-proxy@hub x".to_owned()), "HUB_SERVER_URL"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_member-agent"));
        command.env_clear().env("MEMBER_CLUSTER_NAME", "east").env(variable.0, variable.1);
        if variable.0 == "HUB_SERVER_URL" {
            command.env("CONFIG_PATH", "/nonexistent");
        }
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0", "--kubeconfig"]);
        let output = command.arg(&good).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(reason), "{said}");
        contains_no_secret(&said);
    }
}
