//! The way of a request through the proxy.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING, USER_AGENT,
};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body as ClientBody;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use super::log::Open;
use super::request::{Seen, Verb};
use super::rule::{Answer, Fault, Met};
use super::shared::Shared;

use crate::pki::Identity;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Accepts connections until aborted.
pub(super) async fn listen(identity: &Identity, shared: Arc<Shared>) -> Result<(u16, AbortHandle)> {
    let acceptor = TlsAcceptor::from(Arc::new(server_config(identity)?));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("listen")?;
    let port = listener.local_addr()?.port();
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, acceptor.clone(), Arc::clone(&shared)));
        }
    });
    Ok((port, accepting.abort_handle()))
}

fn server_config(identity: &Identity) -> Result<ServerConfig> {
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes());
    let chain = chain.collect::<Result<Vec<_>, _>>().context("the certificate")?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).context("the key")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth();
    Ok(config.with_single_cert(chain, key)?)
}

/// One connection of a client, to its end or the proxy's.
async fn converse(stream: TcpStream, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    // As without a proxy: small answers do not wait for acknowledgements.
    let _ = stream.set_nodelay(true);
    let mut ended = shared.streams.ended();
    let talk = async {
        let stream = acceptor.accept(stream).await.ok()?;
        let serve = service_fn(|request| pass(request, Arc::clone(&shared)));
        // An error is an end that a test wanted, or a client that went away.
        http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await.ok()
    };
    tokio::select! {
        _ = talk => {}
        _ = ended.wait_for(|ended| *ended) => {}
    }
}

/// One request. An error ends the connection without an answer.
async fn pass(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let seen = Seen::new(&head.method, head.uri.path(), head.uri.query(), body.clone());
    for own in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, USER_AGENT] {
        head.headers.remove(own);
    }
    let request = Request::from_parts(head, ClientBody::from(body));
    if seen.verb == Verb::Watch {
        return watch(request, &seen, &shared).await;
    }
    let open = Arc::new(shared.log.arrived(seen.clone()));
    let met = shared.rules.lock().meet(&seen, false);
    if let Some(met) = met
        && let Some(answer) = before(met, &seen, &shared).await?
    {
        return Ok(instead(&open, &answer));
    }
    // What the API server has begun to do it does, whether or not the client waits for the answer.
    let asked = tokio::spawn(ask(request, Arc::clone(&shared), Arc::clone(&open)));
    let (head, body) = asked.await??;
    if head.status.is_success() {
        let met = shared.rules.lock().meet(&seen, true);
        if let Some(met) = met
            && let Some(answer) = after(met).await?
        {
            return Ok(instead(&open, &answer));
        }
    }
    open.client(head.status);
    Ok(Response::from_parts(head, Full::new(body).boxed_unsync()))
}

/// What a client is answered without the API server having been asked, if it is.
async fn before(mut met: Met, seen: &Seen, shared: &Shared) -> Result<Option<Answer>> {
    match met.fault.clone() {
        Fault::CutBefore => bail!("cut before"),
        Fault::AnswerBefore(answer) => return Ok(Some(answer)),
        Fault::HoldBefore => met.released().await,
        Fault::Race => shared.upstream.race(seen).await?,
        Fault::CutAfter | Fault::AnswerAfter(_) | Fault::HoldAfter => {}
    }
    Ok(None)
}

/// What a client is answered in the place of the API server's answer, if it is.
async fn after(mut met: Met) -> Result<Option<Answer>> {
    match met.fault.clone() {
        Fault::CutAfter => bail!("cut after"),
        Fault::AnswerAfter(answer) => return Ok(Some(answer)),
        Fault::HoldAfter => met.released().await,
        Fault::CutBefore | Fault::AnswerBefore(_) | Fault::HoldBefore | Fault::Race => {}
    }
    Ok(None)
}

async fn ask(
    request: Request<ClientBody>,
    shared: Arc<Shared>,
    open: Arc<Open>,
) -> Result<(http::response::Parts, Bytes)> {
    let asks_version = request.uri().path() == "/version";
    let (mut head, body) = shared.upstream.client.send(request).await?.into_parts();
    shared.pass_on(&mut head.headers);
    open.server(head.status);
    let body = body.collect().await?.to_bytes();
    let is_version = asks_version && head.status.is_success();
    let other = if is_version { shared.version(&mut head.headers, &body)? } else { None };
    Ok((head, other.unwrap_or(body)))
}

async fn watch(
    request: Request<ClientBody>,
    seen: &Seen,
    shared: &Arc<Shared>,
) -> Result<Response<Body>> {
    let (mut head, body) = shared.upstream.client.send(request).await?.into_parts();
    shared.pass_on(&mut head.headers);
    let carrier = shared.streams.carrier(&seen.resource);
    let body = carrier.carry(body, Arc::clone(&shared.streams));
    Ok(Response::from_parts(head, body.boxed_unsync()))
}

/// An answer as an API server words it.
fn instead(open: &Open, answer: &Answer) -> Response<Body> {
    let reason = match answer.code {
        StatusCode::CONFLICT => "Conflict",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::GATEWAY_TIMEOUT => "Timeout",
        StatusCode::UNAUTHORIZED => "Unauthorized",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "answered by the fault proxy", "reason": reason, "code": answer.code.as_u16(),
    });
    let mut response = Response::new(Full::from(status.to_string()).boxed_unsync());
    *response.status_mut() = answer.code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    if let Some(seconds) = answer.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    open.client(answer.code);
    response
}
