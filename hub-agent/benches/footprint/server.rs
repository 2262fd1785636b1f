//! An API server that has lists, page by page, and no news. What it needs itself is not counted.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use fleet_accumulator::Snapshot;
use fleet_api::ResourceKind;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;

use crate::fleet::Fleet;

/// What a connection delivers at once, about.
const CHUNK: usize = 16 << 10;

type Frames = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// The pages of each kind, by its plural. They are never freed: that would count as memory that the reader frees.
#[derive(Clone)]
pub(crate) struct Pages(Arc<HashMap<&'static str, Vec<&'static [u8]>>>);

impl Pages {
    /// All that a snapshot of the fleet is made of.
    pub(crate) fn of<S: Snapshot>(fleet: &Fleet, page_size: u32) -> Self {
        let size = usize::try_from(page_size).unwrap();
        let pages = |kind: ResourceKind| {
            let objects = fleet.objects(kind);
            let count = objects.len().div_ceil(size).max(1);
            let page = |number: usize| {
                let items: Vec<_> = objects.iter().skip(number * size).take(size).collect();
                let more = (number + 1 < count).then(|| (number + 1).to_string());
                page(kind, &items, &more.unwrap_or_default())
            };
            (0..count).map(page).collect()
        };
        let kinds = S::sources().iter().map(|source| source.kind);
        Self(Arc::new(kinds.map(|kind| (kind.plural, pages(kind))).collect()))
    }

    /// A client for it.
    pub(crate) fn client(&self) -> Client {
        let pages = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            std::future::ready(Ok::<_, Infallible>(pages.answer(request.uri())))
        });
        Client::new(service, "default")
    }

    fn answer(&self, uri: &Uri) -> Response<Frames> {
        let plural = uri.path().rsplit('/').next().unwrap_or_default();
        let Some(pages) = self.0.get(plural) else {
            let mut nothing = Response::new(StreamBody::new(stream::empty().boxed()));
            *nothing.status_mut() = StatusCode::NOT_FOUND;
            return nothing;
        };
        let query = uri.query().unwrap_or_default();
        let value = |key| query.split('&').find_map(|pair| pair.strip_prefix(key));
        if value("watch=").is_some() {
            return Response::new(StreamBody::new(stream::pending().boxed()));
        }
        let page: &'static [u8] =
            pages[value("continue=").unwrap_or("0").parse::<usize>().unwrap()];
        let frames = page.chunks(CHUNK).map(|chunk| Ok(Frame::data(Bytes::from_static(chunk))));
        Response::new(StreamBody::new(stream::iter(frames).boxed()))
    }
}

fn page(kind: ResourceKind, items: &[&String], more: &str) -> &'static [u8] {
    let version = kind.api_version();
    let metadata = format!(r#"{{"resourceVersion":"1234567","continue":"{more}"}}"#);
    let items: Vec<_> = items.iter().map(|item| item.as_str()).collect();
    let page = format!(
        r#"{{"apiVersion":"{version}","kind":"{}List","metadata":{metadata},"items":[{}]}}"#,
        kind.kind,
        items.join(","),
    );
    Box::leak(page.into_bytes().into_boxed_slice())
}
