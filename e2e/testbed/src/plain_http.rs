//! Small requests to plain HTTP servers on loopback: etcd's gateway, an agent's health and metrics.

use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Within one of them a browser starts, on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// GET; returns status code and body.
pub async fn get(url: &str) -> Result<(u16, String)> {
    send(http::Request::get(url).body(Full::default())?).await
}

/// POST of a JSON document; returns status code and body.
pub async fn post_json(url: &str, body: &Value) -> Result<(u16, String)> {
    let request = http::Request::post(url)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Full::from(serde_json::to_vec(body)?))?;
    send(request).await
}

async fn send(request: http::Request<Full<Bytes>>) -> Result<(u16, String)> {
    let url = request.uri().to_string();
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    let exchange = async {
        let response = client.request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        anyhow::Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::time::timeout(TIMEOUT, exchange)
        .await
        .with_context(|| format!("{url} did not answer within {TIMEOUT:?}"))?
        .with_context(|| format!("ask {url}"))
}
