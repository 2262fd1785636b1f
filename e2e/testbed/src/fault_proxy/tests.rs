//! The proxy in front of a small server that counts what reaches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::{Client, Config};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;
use crate::pki::Authority;

const SOON: Duration = Duration::from_secs(10);
const PATH: &str = "/api/v1/namespaces/team/services";

/// A server, a proxy to it, and a client that uses the proxy.
struct Scene {
    proxy: FaultProxy,
    client: Client,
    writes: Arc<AtomicUsize>,
    lines: mpsc::UnboundedSender<Bytes>,
}

async fn scene() -> Scene {
    let authority = Authority::new("test").unwrap();
    let identity = authority.server("server", &["127.0.0.1"]).unwrap();
    let (writes, (lines, stream)) = (Arc::new(AtomicUsize::new(0)), mpsc::unbounded_channel());
    let port = plain_server(Arc::clone(&writes), stream).await;
    let upstream = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let proxy = FaultProxy::start(&upstream, &identity).await.unwrap();
    let mut config = Config::new(proxy.url().parse().unwrap());
    config.root_cert = Some(vec![pem_to_der(authority.pem())]);
    let client = fleet_runtime::clients::from_config("proxy", config).await.unwrap().write;
    Scene { proxy, client, writes, lines }
}

fn pem_to_der(pem: &str) -> Vec<u8> {
    use rustls::pki_types::pem::PemObject;
    rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

/// Answers writes with 200 and the first GET with the lines that it is given.
async fn plain_server(writes: Arc<AtomicUsize>, lines: mpsc::UnboundedReceiver<Bytes>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let lines = Arc::new(Mutex::new(Some(lines)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (writes, lines) = (Arc::clone(&writes), Arc::clone(&lines));
            let serve = hyper::service::service_fn(move |request: Request<_>| {
                let lines = lines.lock().take().filter(|_| request.method() == Method::GET);
                if request.method() != Method::GET {
                    writes.fetch_add(1, Ordering::Relaxed);
                }
                async move {
                    let body = match lines {
                        None => Full::new(Bytes::from("{}")).boxed_unsync(),
                        Some(lines) => {
                            let next = async |mut lines: mpsc::UnboundedReceiver<Bytes>| {
                                let line = lines.recv().await?;
                                Some((Ok(Frame::data(line)), lines))
                            };
                            StreamBody::new(futures::stream::unfold(lines, next)).boxed_unsync()
                        }
                    };
                    Ok::<_, std::convert::Infallible>(Response::new(body))
                }
            });
            let serving = hyper::server::conn::http1::Builder::new();
            tokio::spawn(serving.serve_connection(TokioIo::new(stream), serve));
        }
    });
    port
}

impl Scene {
    async fn write(&self, method: Method) -> Result<StatusCode> {
        let body = Body::from(b"{\"a\":1}".to_vec());
        let request = Request::builder().method(method).uri(format!("{PATH}/web")).body(body)?;
        Ok(self.client.send(request).await?.status())
    }

    fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }
}

fn any(seen: &Seen) -> bool {
    seen.verb.writes()
}

#[tokio::test]
async fn a_request_passes_and_is_logged() {
    let scene = scene().await;
    assert_eq!(scene.write(Method::PUT).await.unwrap(), StatusCode::OK);
    let entries = scene.proxy.log().entries();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].to_string(), "update services team/web (server 200, client 200)");
    assert!(entries[0].seen.mentions("\"a\":1") && !entries[0].seen.mentions("other"));
    assert_eq!(scene.proxy.log().work("web").len(), 1);
}

#[tokio::test]
async fn a_cut_before_is_no_write_and_a_cut_after_is_one() {
    let scene = scene().await;
    for (fault, writes) in [(Fault::CutBefore, 0), (Fault::CutAfter, 1)] {
        let planned = scene.proxy.plan(Rule::new(fault, any));
        assert!(scene.write(Method::PUT).await.is_err());
        assert_eq!((scene.writes(), planned.hits().len()), (writes, 1));
    }
    assert_eq!(scene.write(Method::PUT).await.unwrap(), StatusCode::OK);
    assert_eq!(scene.writes(), 2);
}

#[tokio::test]
async fn an_answer_comes_in_the_place_of_the_servers_or_after_it() {
    let scene = scene().await;
    let timeout = Answer::new(StatusCode::GATEWAY_TIMEOUT);
    for (fault, writes) in
        [(Fault::AnswerBefore(timeout.clone()), 0), (Fault::AnswerAfter(timeout), 1)]
    {
        let _planned = scene.proxy.plan(Rule::new(fault, any));
        assert_eq!(scene.write(Method::POST).await.unwrap(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(scene.writes(), writes);
    }
}

#[tokio::test]
async fn rules_count() {
    let scene = scene().await;
    let conflict = Fault::AnswerBefore(Answer::new(StatusCode::CONFLICT));
    let rule = Rule::new(conflict, |seen| seen.verb == Verb::Update).after(1).times(2);
    let planned = scene.proxy.plan(rule);
    let mut codes = Vec::new();
    for method in [Method::PUT, Method::DELETE, Method::PUT, Method::PUT, Method::PUT] {
        codes.push(scene.write(method).await.unwrap().as_u16());
    }
    assert_eq!(codes, [200, 200, 409, 409, 200]);
    assert_eq!(planned.hits().len(), 2);
    drop(planned);
}

#[tokio::test]
async fn what_is_held_goes_on_when_released() {
    let scene = scene().await;
    for (fault, writes) in [(Fault::HoldBefore, 0), (Fault::HoldAfter, 2)] {
        let planned = scene.proxy.plan(Rule::new(fault, any));
        let writing = scene.write(Method::PUT);
        let releasing = async {
            planned.happened(SOON).await.unwrap();
            assert_eq!(scene.writes(), writes);
            planned.release();
        };
        assert_eq!(futures::join!(writing, releasing).0.unwrap(), StatusCode::OK);
    }
    assert_eq!(scene.writes(), 2);
}

#[tokio::test]
async fn a_client_that_goes_away_takes_what_is_held_with_it() {
    let scene = scene().await;
    let planned = scene.proxy.plan(Rule::new(Fault::HoldBefore, any));
    tokio::select! {
        result = scene.write(Method::PUT) => unreachable!("held: {result:?}"),
        hit = planned.happened(SOON) => drop(hit.unwrap()),
    }
    let mut changes = scene.proxy.log().changes();
    let ended = changes.wait_for(|_| scene.proxy.log().entries()[0].ended.is_some());
    tokio::time::timeout(SOON, ended).await.unwrap().unwrap();
    planned.release();
    assert_eq!(scene.write(Method::PUT).await.unwrap(), StatusCode::OK);
    assert_eq!(scene.writes(), 1);
}

#[tokio::test]
async fn a_watch_loses_a_line_and_falls_silent() {
    let scene = scene().await;
    let request = Request::get(format!("{PATH}?watch=true")).body(Body::empty()).unwrap();
    let mut stream = scene.client.send(request).await.unwrap().into_body().into_data_stream();
    scene.proxy.lose_line("services", "two");
    for line in ["one\n", "tw", "o\nthr", "ee\n"] {
        scene.lines.send(Bytes::from(line)).unwrap();
    }
    let mut heard = Vec::new();
    while !heard.ends_with(b"three\n") {
        heard.extend(tokio::time::timeout(SOON, stream.next()).await.unwrap().unwrap().unwrap());
    }
    assert_eq!(heard, b"one\nthree\n");
    assert_eq!(scene.proxy.lost_lines(), 1);

    assert_eq!(scene.proxy.strand_watches("services"), 1);
    assert_eq!(scene.proxy.strand_watches("services"), 0, "only once");
    scene.lines.send(Bytes::from("four\n")).unwrap();
    let silence = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
    assert!(silence.is_err(), "{silence:?}");
    drop(scene.proxy);
    let end = tokio::time::timeout(SOON, stream.next()).await.unwrap();
    assert!(!matches!(end, Some(Ok(_))), "{end:?}");
}

#[test]
fn paths_are_understood() {
    let seen = |method: Method, path: &str, query: Option<&str>| {
        Seen::new(&method, path, query, Bytes::new()).to_string()
    };
    let fleet = "/apis/networking.fleet.azure.com/v1alpha1";
    for (method, path, query, told) in [
        (Method::GET, "/version".to_owned(), None, "get /version"),
        (Method::GET, format!("{fleet}/serviceimports"), None, "list serviceimports"),
        (
            Method::GET,
            format!("{fleet}/serviceimports"),
            Some("a=b&watch=true"),
            "watch serviceimports",
        ),
        (
            Method::PATCH,
            format!("{fleet}/namespaces/team/serviceimports/web/status"),
            None,
            "patch serviceimports/status team/web",
        ),
        (Method::GET, "/api/v1/namespaces/team".to_owned(), None, "get namespaces team"),
        (Method::DELETE, format!("{PATH}/web"), None, "delete services team/web"),
    ] {
        assert_eq!(seen(method, &path, query), told);
    }
}

#[tokio::test]
async fn a_proxy_may_have_a_clock_of_its_own() {
    let scene = scene().await;
    let date = async || {
        let request = Request::post(PATH).body(Body::empty()).unwrap();
        let response = scene.client.send(request).await.unwrap();
        response.headers()[http::header::DATE].to_str().unwrap().to_owned()
    };
    assert_ne!(date().await, "Thu, 01 Jan 1970 00:00:10 GMT");
    scene.proxy.set_time(10).unwrap();
    assert_eq!(date().await, "Thu, 01 Jan 1970 00:00:10 GMT");
    scene.proxy.clear_time();
    assert_ne!(date().await, "Thu, 01 Jan 1970 00:00:10 GMT");
}

#[tokio::test]
async fn an_api_server_may_seem_to_be_of_another_release() {
    let scene = scene().await;
    let answer = async || {
        let request = Request::post("/version").body(Body::empty()).unwrap();
        let answer = scene.client.send(request).await.unwrap().into_body();
        String::from_utf8(answer.collect().await.unwrap().to_bytes().to_vec()).unwrap()
    };
    let own = answer().await;
    scene.proxy.set_release(Some("v1.33.0"));
    assert_eq!(answer().await, r#"{"gitVersion":"v1.33.0"}"#);
    scene.proxy.set_release(None);
    assert_eq!(answer().await, own);
}
