//! The feed of several selections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, AbortHandle, BoxStream, SelectAll, StreamExt as _};
use http::StatusCode;
use kube::Resource;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::branch::{Branch, Selection, bare, gone};
use crate::ResourceVersion;
use crate::source::feed::{Discovered, Events, Feed, ReadOptions, WatchError, WatchItem};
use crate::source::kube_feed::KubeFeed;
use crate::source::list_watch;
use crate::source::server::Server;
use crate::source::spec::SourceSpec;

/// Pause before a selection that is forbidden is asked for again.
const FORBIDDEN: Duration = Duration::from_secs(30);
/// Pause before a watch that has ended is resumed, so that one that ends at once is not asked for all the time.
const RESUME: Duration = Duration::from_millis(200);

/// What comes from one selection; `None` is the end of its stream.
type Part<W> = (Arc<Selection>, u64, Option<WatchItem<W>>);

/// The selections of one kind. It lists after every interruption: one version does not show how far each of them was read.
pub(crate) struct SelectedFeed<W> {
    spec: SourceSpec,
    selections: watch::Receiver<BTreeSet<Selection>>,
    whole: KubeFeed<W>,
    /// The newest version that was seen, for a list of nothing.
    newest: Arc<Mutex<ResourceVersion>>,
}

/// The selections of a kind, if the spec has any, or else all of its objects.
pub fn selectable<W>(spec: SourceSpec) -> Box<dyn Feed<W>>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    match spec.selections.clone() {
        Some(selections) => Box::new(SelectedFeed::new(spec, selections)),
        None => Box::new(KubeFeed::new(spec)),
    }
}

impl<W: Resource<DynamicType = ()>> SelectedFeed<W> {
    pub(crate) fn new(spec: SourceSpec, selections: watch::Receiver<BTreeSet<Selection>>) -> Self {
        let whole = KubeFeed::new(spec.clone());
        Self { spec, selections, whole, newest: Arc::new(Mutex::new("1".into())) }
    }
}

impl<W> Feed<W> for SelectedFeed<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    fn open(&mut self, options: &ReadOptions, _: Option<&ResourceVersion>) -> Events<W> {
        let mut reading = Reading {
            spec: self.spec.clone(),
            options: options.clone(),
            selections: self.selections.clone(),
            newest: Arc::clone(&self.newest),
            branches: BTreeMap::new(),
            parts: SelectAll::new(),
            streams: 0,
            first: BTreeSet::new(),
            is_listed: false,
            ready: VecDeque::from([WatchItem::ListStarted]),
            has_sender: true,
            has_ended: false,
        };
        reading.follow_selections();
        reading.first = reading.branches.keys().cloned().collect();
        reading.end_first_list();
        stream::unfold(reading, Reading::item).boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        self.whole.discover()
    }

    fn identity(&mut self) -> BoxFuture<'_, Option<String>> {
        self.whole.identity()
    }
}

struct Reading<W> {
    spec: SourceSpec,
    options: ReadOptions,
    selections: watch::Receiver<BTreeSet<Selection>>,
    newest: Arc<Mutex<ResourceVersion>>,
    branches: BTreeMap<Arc<Selection>, Branch>,
    parts: SelectAll<BoxStream<'static, Part<W>>>,
    /// How many streams were begun.
    streams: u64,
    /// The selections that the first list is not complete without.
    first: BTreeSet<Arc<Selection>>,
    /// Whether the first list is complete.
    is_listed: bool,
    ready: VecDeque<WatchItem<W>>,
    /// Whether others may be selected.
    has_sender: bool,
    has_ended: bool,
}

impl<W> Reading<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    async fn item(mut self) -> Option<(WatchItem<W>, Self)> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some((item, self));
            }
            if self.has_ended {
                return None;
            }
            tokio::select! {
                changed = self.selections.changed(), if self.is_listed && self.has_sender => match changed {
                    Ok(()) => self.follow_selections(),
                    // What there is stays.
                    Err(_) => self.has_sender = false,
                },
                Some((selection, stream, item)) = self.parts.next() => {
                    self.take(&selection, stream, item);
                }
                else => return None,
            }
        }
    }

    /// Begins what is selected and not read, and ends what is read and not selected any more.
    fn follow_selections(&mut self) {
        let wanted = self.selections.borrow_and_update().clone();
        let ended: Vec<_> =
            self.branches.keys().filter(|known| !wanted.contains(&***known)).cloned().collect();
        for selection in ended {
            self.end(&selection);
        }
        for selection in wanted {
            let selection = Arc::new(selection);
            if !self.branches.contains_key(&selection) {
                self.begin(&selection, None, Duration::ZERO);
            }
        }
    }

    /// Reads a selection, from a version or from a list, after a pause.
    fn begin(
        &mut self,
        selection: &Arc<Selection>,
        from: Option<ResourceVersion>,
        pause: Duration,
    ) {
        self.streams += 1;
        let (at, of) = (self.streams, Arc::clone(selection));
        let mut spec = self.spec.clone();
        spec.namespace.clone_from(&selection.namespace);
        spec.fields = Some(selection.fields.clone());
        let options = self.options.clone();
        let server = self.branches.get(selection).map(|branch| branch.server.clone());
        let server = server.unwrap_or_default();
        let answered = server.clone();
        let open = async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            list_watch::open::<W>(&spec, &options, from.as_ref(), &answered)
        };
        let items = stream::once(open).flatten().map(Some);
        let (items, abort) = stream::abortable(items.chain(stream::iter([None])));
        self.parts.push(items.map(move |item| (Arc::clone(&of), at, item)).boxed());
        self.attach(selection, abort, at, server);
    }

    fn attach(
        &mut self,
        selection: &Arc<Selection>,
        abort: AbortHandle,
        stream: u64,
        server: Server,
    ) {
        match self.branches.get_mut(selection) {
            Some(branch) => (branch.abort, branch.stream) = (abort, stream),
            None => {
                self.branches.insert(Arc::clone(selection), Branch::new(abort, stream, server));
            }
        }
    }

    /// A selection is not wanted any more: what it alone has shown goes.
    fn end(&mut self, selection: &Arc<Selection>) {
        let Some(branch) = self.branches.remove(selection) else { return };
        branch.abort.abort();
        let version = self.newest.lock().clone();
        if branch.is_marked {
            self.unmark(selection);
        }
        for (name, uid) in branch.into_known() {
            if !self.branches.values().any(|other| other.knows(&name)) {
                self.ready.extend(gone(&name, &uid, &version));
            }
        }
    }

    fn unmark(&mut self, selection: &Selection) {
        let (name, version) = (selection.marker(), self.newest.lock().clone());
        self.ready.extend(gone(&name, &name.name, &version));
    }

    fn take(&mut self, selection: &Arc<Selection>, stream: u64, item: Option<WatchItem<W>>) {
        let Some(branch) = self.branches.get_mut(selection) else { return };
        // Of a stream that was ended.
        if branch.stream != stream {
            return;
        }
        match item {
            Some(WatchItem::ListStarted) => branch.begin_list(),
            Some(WatchItem::Listed(object)) => {
                branch.shows(&object);
                self.ready.push_back(self.shown(object));
            }
            Some(WatchItem::ListCompleted(version)) => self.end_list(selection, &version),
            Some(WatchItem::Applied(object)) => {
                branch.shows(&object);
                self.note(object.meta().resource_version.as_deref());
                self.ready.push_back(self.shown(object));
            }
            Some(WatchItem::Deleted(object)) => {
                branch.loses(&object);
                self.note(object.meta().resource_version.as_deref());
                self.ready.push_back(WatchItem::Deleted(object));
            }
            // It is true of one selection, and the others may be behind.
            Some(WatchItem::Bookmark(version)) => branch.version = Some(version),
            Some(WatchItem::Failed(error)) => self.fail(selection, error),
            Some(
                item @ (WatchItem::Requested
                | WatchItem::Progress
                | WatchItem::WatchStarted
                | WatchItem::ServerChanged),
            ) => {
                self.ready.push_back(item);
            }
            None => {
                let from = branch.version.clone();
                self.begin(selection, from, RESUME);
            }
        }
    }

    /// What comes after the first list is a change of it.
    fn shown(&self, object: W) -> WatchItem<W> {
        if self.is_listed { WatchItem::Applied(object) } else { WatchItem::Listed(object) }
    }

    fn note(&self, version: Option<&str>) {
        let Some(version) = version.map(ResourceVersion::from) else { return };
        let mut newest = self.newest.lock();
        if version.is_at_least(&newest) == Some(true) {
            *newest = version;
        }
    }

    fn end_list(&mut self, selection: &Arc<Selection>, version: &ResourceVersion) {
        // Also an older one: the source is to notice an API server that went back in time.
        *self.newest.lock() = version.clone();
        let Some(branch) = self.branches.get_mut(selection) else { return };
        branch.is_marked = true;
        for (name, uid) in branch.end_list(version) {
            self.ready.extend(gone(&name, &uid, version));
        }
        let name = selection.marker();
        if let Some(marker) = bare(&name, &name.name, version) {
            self.ready.push_back(self.shown(marker));
        }
        self.first.remove(selection);
        self.end_first_list();
    }

    fn end_first_list(&mut self) {
        if !self.is_listed && self.first.is_empty() {
            self.is_listed = true;
            let version = self.newest.lock().clone();
            self.ready.push_back(WatchItem::ListCompleted(version));
            self.ready.push_back(WatchItem::WatchStarted);
        }
    }

    /// One selection that is forbidden does not keep the others from being read. Any other failure is one of the API server.
    fn fail(&mut self, selection: &Arc<Selection>, error: WatchError) {
        if !is_forbidden(&error) {
            self.ready.push_back(WatchItem::Failed(error));
            self.has_ended = true;
            return;
        }
        let marker = selection.marker();
        tracing::warn!(selection = &*marker.name, %error, "Selection is forbidden");
        if let Some(branch) = self.branches.get_mut(selection) {
            branch.abort.abort();
            if std::mem::take(&mut branch.is_marked) {
                self.unmark(selection);
            }
        }
        self.begin(selection, None, FORBIDDEN);
        self.first.remove(selection);
        self.end_first_list();
    }
}

fn is_forbidden(error: &WatchError) -> bool {
    let (WatchError::List(error) | WatchError::WatchStart(error) | WatchError::Watch(error)) =
        error
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == StatusCode::FORBIDDEN.as_u16())
}
