//! The last look at the write gate: when the bytes of a request go out.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Request;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use kube::client::Body;

use crate::writer::WriteGate;

/// The body of a request, which is not sent once the gate in the request's extensions is closed.
///
/// Between the writer's look at the gate and the first byte on the wire a connection may have to be
/// made, and the process may stand still for any time. Without its body an API server does not act
/// on a request, and each write has one.
#[derive(Debug)]
pub(super) struct Gated {
    body: Body,
    gate: Option<WriteGate>,
}

impl Gated {
    /// Moves the gate of a request into its body.
    pub(super) fn request(mut request: Request<Body>) -> Request<Self> {
        let gate = request.extensions_mut().remove::<WriteGate>();
        request.map(|body| Self { body, gate })
    }
}

impl HttpBody for Gated {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(Err(closed)) = self.gate.as_ref().map(WriteGate::check) {
            return Poll::Ready(Some(Err(closed.into())));
        }
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::Config;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::clients;

    const BODY: &str = "the object";

    /// What a server gets of a request whose gate is, or is not, closed before it is sent.
    async fn sent(close: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config =
            Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
        let client = clients::from_config("hub", config).await.unwrap().write;
        let gate = WriteGate::open();
        let mut request = Request::put("/").body(Body::from(BODY.as_bytes().to_vec())).unwrap();
        request.extensions_mut().insert(gate.clone());
        if close {
            gate.close();
        }
        let asked = tokio::spawn(async move { client.send(request).await.map(drop) });
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = vec![0; 4096];
        let mut length = 0;
        loop {
            let count = stream.read(&mut received[length..]).await.unwrap();
            length += count;
            let text = String::from_utf8_lossy(&received[..length]).into_owned();
            if text.ends_with(BODY) {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                asked.await.unwrap().unwrap();
                return text;
            }
            if count == 0 {
                asked.await.unwrap().unwrap_err();
                return text;
            }
        }
    }

    #[tokio::test]
    async fn nothing_an_api_server_would_act_on_leaves_a_closed_gate() {
        let timeout = |task| tokio::time::timeout(Duration::from_secs(30), task);
        assert!(timeout(sent(false)).await.unwrap().ends_with(BODY));
        assert!(!timeout(sent(true)).await.unwrap().contains(BODY));
    }
}
