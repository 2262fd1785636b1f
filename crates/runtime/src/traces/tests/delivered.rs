//! What a collector gets.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const LIMIT: Duration = Duration::from_secs(30);

/// Answers one request, and returns its head in lower case and how much of a body there was.
async fn receive(listener: TcpListener) -> (String, usize) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let count = stream.read_buf(&mut bytes).await.unwrap();
        assert!(count > 0, "the request is cut off");
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.unwrap().parse().unwrap();
        if bytes.len() >= head.len() + 4 + length {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            return (head.to_owned(), length);
        }
    }
}

#[tokio::test]
async fn the_last_spans_arrive_before_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/tenant", listener.local_addr().unwrap());
    let endpoint = Endpoint::parse(&base).unwrap().unwrap();
    let origin = Origin { agent: "hub-agent", version: "1", cluster: None };
    let delivery = Delivery::start(&endpoint, &origin).unwrap();

    let mut steps = [plain(create()).trace(Trace::Begins)];
    let tracer = delivery.tracer(Clock::system());
    tracer.begin(&mut steps, &key(), None).end(&steps, &Outcome::default());
    let (received, ()) = tokio::time::timeout(LIMIT, async {
        tokio::join!(receive(listener), delivery.finish(std::future::ready(())))
    })
    .await
    .unwrap();

    let (head, length) = received;
    assert!(head.starts_with("post /tenant/v1/traces http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-type: application/x-protobuf"), "{head}");
    assert!(length > 0);
}

#[tokio::test]
async fn nobody_waits_for_a_collector_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let endpoint = Endpoint::parse(&base).unwrap().unwrap();
    let origin = Origin { agent: "hub-agent", version: "1", cluster: Some("east".to_owned()) };
    let delivery = Delivery::start(&endpoint, &origin).unwrap();
    let mut steps = [plain(create()).trace(Trace::Begins)];
    let tracer = delivery.tracer(Clock::system());
    tracer.begin(&mut steps, &key(), None).end(&steps, &Outcome::default());
    tokio::time::timeout(LIMIT, delivery.finish(std::future::ready(()))).await.unwrap();
}
