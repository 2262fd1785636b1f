//! One process of an agent: its watches, its controllers, and the plans that it carries out.

use std::any::Any;
use std::cell::RefCell;
use std::time::Duration;

use fleet_accumulator::{
    ClusterId, Expectation, ResourceVersion, Snapshot, SourceInfo, SourceSet, Tracked, Uid, Until,
    View, Views,
};
use fleet_model_server::Refusal;
use fleet_oracle::requests::Author;
use fleet_plan::{Action, Step};
use serde_json::Value;

use crate::desk::{Again, Planning, Run, Sent};
use crate::effects::Effect;
use crate::env::{Env, Fate, Moment};
use crate::watch::{Decoder, Narrow, PROVIDED, Seen, Viewing, Watch, provide};

/// How long a view may take to show what was written.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);
/// How long a watch may be without a connection until it counts as stale.
const STALE_AFTER: Duration = Duration::from_secs(30);

/// What distinguishes the agents.
pub(crate) trait Role<S> {
    /// Its controllers.
    fn controllers(&self) -> Vec<Box<dyn Planning<S>>>;
    /// Further sources that it reads.
    fn also_reads(&self) -> SourceSet;
    /// What is watched of a source; `None` for one that the process itself provides.
    fn narrow(&self, source: &SourceInfo) -> Option<Narrow>;
    /// Sources from which absence counts only after a while.
    fn cautious(&self) -> (SourceSet, Duration);
    /// The API server of one of its clusters.
    fn server(&self, cluster: ClusterId) -> usize;
    fn author(&self) -> Author;
    /// Completes a snapshot.
    fn complete(&self, snapshot: &mut S);
    /// Takes note of what a plan has measured.
    fn remember(&self, what: &dyn Any);
    /// The process begins to lead. Returns how far the watches of the process before had come, if that was handed on.
    fn begins(&mut self, env: &mut Env) -> Vec<u64>;
    /// Does what is due by the clock; `reached` is how far its watches have come. Returns documents that it provides, by source.
    fn tick(&mut self, snapshot: &S, leads: bool, reached: &[u64], env: &mut Env) -> Vec<Provided>;
    /// When something is due next.
    fn next_tick(&self) -> Duration;
}

/// Documents of a source that the process itself provides.
pub(crate) type Provided = (&'static str, Vec<(String, Value)>);

pub(crate) struct Process<S, R> {
    pub(crate) role: R,
    pub(crate) name: String,
    watches: Vec<Watch>,
    places: Vec<Option<usize>>,
    desks: Vec<Box<dyn Planning<S>>>,
    /// Desks whose required sources were listed in this term.
    open: Vec<bool>,
    runs: Vec<Run>,
    snapshot: S,
    /// Which watches have changed since the snapshot was made.
    is_dirty: bool,
    touched: SourceSet,
    pub(crate) leads: bool,
    /// Whether the process runs.
    pub(crate) is_up: bool,
    /// How far its clock is off, in seconds.
    pub(crate) skew: i64,
    /// Since when its hub has not been reached.
    cut_since: Option<Duration>,
    /// The newest change of the hub, and of its own cluster, that a watch has shown.
    newest: [u64; 2],
}

/// Makes an empty watch of each source that is read.
struct Making<'a, S, R> {
    role: &'a R,
    reads: SourceSet,
    cautious: SourceSet,
    cautious_for: Duration,
    watches: RefCell<Vec<Watch>>,
    snapshot: std::marker::PhantomData<S>,
}

impl<S: Snapshot, R: Role<S>> Views for Making<'_, S, R> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        if !self.reads.contains(source.id) {
            return View::default();
        }
        let info = &S::sources()[source.id.index()];
        let narrow = self.role.narrow(source);
        let server = narrow.as_ref().map_or(PROVIDED, |_| self.role.server(source.cluster));
        let seen: Box<dyn Viewing> = Box::new(Seen::<T>(View::default()));
        let cautious_for = self.cautious.contains(source.id).then_some(self.cautious_for);
        let watch = Watch::new(info, server, narrow.unwrap_or_default(), seen, cautious_for);
        self.watches.borrow_mut().push(watch);
        View::default()
    }
}

/// Watches, and the place of the watch of each source among them.
struct Showing<'a>(&'a [Watch], &'a [Option<usize>]);

impl Views for Showing<'_> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        let watch = self.1[source.id.index()].map(|at| &self.0[at]);
        let view = watch.and_then(|watch| watch.view().downcast_ref::<View<T>>());
        view.cloned().unwrap_or_default()
    }
}

impl<S: Snapshot, R: Role<S>> Process<S, R> {
    pub(crate) fn new(name: String, role: R) -> Self {
        let mut process = Self {
            role,
            name,
            watches: Vec::new(),
            places: vec![None; S::sources().len()],
            desks: Vec::new(),
            open: Vec::new(),
            runs: Vec::new(),
            snapshot: S::default(),
            is_dirty: true,
            touched: S::all(),
            leads: false,
            is_up: true,
            skew: 0,
            cut_since: None,
            newest: [0; 2],
        };
        process.watches = process.make_watches();
        for (at, watch) in process.watches.iter().enumerate() {
            process.places[watch.info.id.index()] = Some(at);
        }
        process
    }

    fn make_watches(&self) -> Vec<Watch> {
        let controllers = self.role.controllers();
        let reads = controllers.iter().map(|desk| desk.reads());
        let reads = reads.fold(self.role.also_reads(), SourceSet::union);
        let (cautious, cautious_for) = self.role.cautious();
        let watches = RefCell::new(Vec::new());
        let snapshot = std::marker::PhantomData;
        let making =
            Making::<S, R> { role: &self.role, reads, cautious, cautious_for, watches, snapshot };
        S::of(&making);
        making.watches.into_inner()
    }

    /// A term begins: everything is listed anew, and planned.
    pub(crate) fn lead(&mut self, env: &mut Env) {
        self.leads = true;
        self.desks = self.role.controllers();
        self.open = vec![false; self.desks.len()];
        self.runs.clear();
        for watch in &mut self.watches {
            watch.relist();
        }
        self.touched = S::all();
        let reached = self.role.begins(env);
        for (watch, reached) in self.watches.iter_mut().zip(reached) {
            watch.takes_over(reached);
        }
    }

    /// A term ends: what was sent is sent, and nothing else is.
    pub(crate) fn stand_by(&mut self) {
        self.leads = false;
        self.desks.clear();
        self.open.clear();
        self.runs.clear();
    }

    pub(crate) fn watches(&mut self) -> &mut [Watch] {
        &mut self.watches
    }

    /// A watch may show another state.
    pub(crate) fn has_changed(&mut self) {
        self.is_dirty = true;
        self.touched = S::all();
    }

    pub(crate) fn skip(&mut self, env: &Env) {
        for watch in self.watches.iter_mut().filter(|watch| watch.server != PROVIDED) {
            watch.skip(&env.servers.0[watch.server]);
        }
    }

    /// Does one thing, whichever comes first by chance. False if there is nothing to do at this time.
    pub(crate) fn turn(&mut self, env: &mut Env) -> bool {
        if !self.is_up {
            return false;
        }
        self.follow_link(env);
        let mut ways: [fn(&mut Self, &mut Env) -> bool; 4] =
            [Self::watch, Self::send, Self::plan, Self::settle];
        env.random.shuffle(&mut ways);
        for way in ways {
            if way(self, env) {
                return true;
            }
        }
        if self.role.next_tick() <= env.now {
            self.refresh(env);
            let reached: Vec<_> = self.watches.iter().map(Watch::reached).collect();
            let provided = self.role.tick(&self.snapshot, self.leads, &reached, env);
            for (field, documents) in provided {
                self.provide(field, &documents, &env.decoder);
            }
            return true;
        }
        false
    }

    fn provide(&mut self, field: &'static str, documents: &[(String, Value)], decoder: &Decoder) {
        let watch = self.watches.iter_mut().find(|watch| watch.info.field == field);
        if let Some(watch) = watch {
            provide(watch, decoder, documents);
            self.is_dirty = true;
            self.touched = self.touched.with(watch.info.id);
        }
    }

    /// A link that is down for long makes its watches stale.
    fn follow_link(&mut self, env: &Env) {
        if !env.is_cut(&self.name) {
            self.cut_since = None;
            return;
        }
        let since = *self.cut_since.get_or_insert(env.now);
        if env.now < since + STALE_AFTER {
            return;
        }
        for watch in self.watches.iter_mut().filter(|watch| watch.server == crate::servers::HUB) {
            if watch.becomes_stale(env.now) {
                self.is_dirty = true;
                self.touched = self.touched.with(watch.info.id);
            }
        }
    }

    fn reaches(&self, watch: &Watch, env: &Env) -> bool {
        watch.server != PROVIDED && !(watch.server == crate::servers::HUB && env.is_cut(&self.name))
    }

    /// A watch shows something.
    fn watch(&mut self, env: &mut Env) -> bool {
        let behind = |watch: &Watch| {
            self.reaches(watch, env) && watch.is_behind(&env.servers.0[watch.server], env.now)
        };
        let behind: Vec<usize> =
            (0..self.watches.len()).filter(|at| behind(&self.watches[*at])).collect();
        if behind.is_empty() {
            return false;
        }
        let at = *env.random.pick(&behind);
        let most = env.random.below(4) + 1;
        let server = self.watches[at].server;
        let watch = &mut self.watches[at];
        let shown = watch.advance(&env.servers.0[server], &env.decoder, most, env.now);
        if shown.missed {
            env.effects.count(Effect::Missed);
        }
        let newest = &mut self.newest[usize::from(server != crate::servers::HUB)];
        if shown.version.is_some_and(|version| version < *newest) {
            env.effects.count(Effect::Reordered);
        }
        *newest = if shown.went_back { 0 } else { (*newest).max(shown.version.unwrap_or(0)) };
        let watch = &mut self.watches[at];
        if watch.has_just_missed() {
            watch.list_later(env.now + Duration::from_millis(env.random.within(5000, 300_000)));
        }
        let went_back = shown.went_back;
        self.touched = self.touched.with(watch.info.id);
        self.is_dirty = true;
        if went_back {
            for other in self.watches.iter_mut().filter(|other| other.server == server) {
                if other.next_timer().is_none() {
                    other.doubts(env.now);
                }
            }
            self.touched = S::all();
        }
        true
    }

    /// Shows controllers what has changed.
    fn refresh(&mut self, env: &mut Env) {
        if !std::mem::take(&mut self.is_dirty) {
            return;
        }
        let seq = self.snapshot.seq() + 1;
        self.snapshot = S::of(&Showing(&self.watches, &self.places));
        self.snapshot.set_seq(seq);
        self.role.complete(&mut self.snapshot);
        let touched = std::mem::replace(&mut self.touched, SourceSet::EMPTY);
        for (desk, open) in self.desks.iter_mut().zip(&mut self.open) {
            let begins = !*open && self.snapshot.complete(desk.required());
            *open |= begins;
            if *open && (begins || desk.reads().intersects(touched)) {
                desk.observe(&self.snapshot, env.now);
            }
        }
    }

    /// A key is planned.
    fn plan(&mut self, env: &mut Env) -> bool {
        if !self.leads {
            return false;
        }
        self.refresh(env);
        let due: Vec<_> = self.desks.iter().map(|desk| desk.due(env.now)).collect();
        let all: usize = due.iter().sum();
        if all == 0 {
            return false;
        }
        let mut at = env.random.below(all);
        let desk = due.iter().position(|count| {
            let here = at < *count;
            at -= if here { 0 } else { *count };
            here
        });
        let desk = desk.unwrap();
        let times = (env.now, env.wall(self.skew));
        let role = &self.role;
        let mut take = |what: &dyn Any| role.remember(what);
        if let Some(mut run) = self.desks[desk].plan(at, &self.snapshot, times, &mut take) {
            run.torn = run.steps.iter().map(|step| self.is_torn(step)).collect();
            env.plans += 1;
            if self.skew != 0 {
                env.effects.count(Effect::Clock);
            }
            let reads = self.desks[desk].reads();
            let is_read = |watch: &Watch| reads.contains(watch.info.id) && watch.server != PROVIDED;
            let mut read = self.watches.iter().filter(|watch| is_read(watch));
            if read.any(|watch| watch.is_late(&env.servers.0[watch.server], env.now)) {
                env.effects.count(Effect::Stale);
            }
            self.runs.push(run);
        }
        true
    }

    /// A step is sent.
    fn send(&mut self, env: &mut Env) -> bool {
        let mut sendable: Vec<(usize, usize)> = Vec::new();
        for (at, run) in self.runs.iter_mut().enumerate() {
            if run.answered.is_none() {
                let steps = run.sendable();
                if steps.is_empty() {
                    run.answered = Some(env.now);
                }
                sendable.extend(steps.into_iter().map(|step| (at, step)));
            }
        }
        if sendable.is_empty() {
            return false;
        }
        let (run, step) = *env.random.pick(&sendable);
        let server = self.role.server(self.runs[run].steps[step].cluster);
        env.begin(&self.name, &self.runs[run].steps[step]);
        let fate = if server == crate::servers::HUB && env.is_cut(&self.name) {
            Fate::Lost
        } else {
            env.fate(&self.name, &self.runs[run].steps[step])
        };
        if matches!(fate, Fate::Late | Fate::Dead(Moment::UnderWay)) {
            let run = &self.runs[run];
            env.post(server, &run.steps[step], self.role.author(), &run.key);
        }
        if server == crate::servers::HUB && env.is_cut(&self.name) {
            env.effects.count(Effect::Cut);
        } else if let Some(effect) = effect(fate) {
            env.effects.count(effect);
        }
        match fate {
            Fate::Dead(Moment::Before | Moment::UnderWay) => {
                self.crash(env);
                return true;
            }
            Fate::Lost | Fate::Late => {
                self.failed(run, step, false);
                return true;
            }
            Fate::Answered | Fate::Unanswered | Fate::Dead(Moment::After) => {}
        }
        let knows = !self.runs[run].torn[step];
        let result = {
            let run = &self.runs[run];
            env.execute(server, &run.steps[step], &self.role.author(), &run.key, knows)
        };
        match (fate, result) {
            (Fate::Dead(_), _) => self.crash(env),
            (Fate::Unanswered, _) => self.failed(run, step, false),
            (_, Ok(())) => self.done(run, step, server, env),
            (_, Err(refusal)) => {
                let is_stale = matches!(
                    refusal,
                    Refusal::AlreadyExists | Refusal::NotFound | Refusal::Conflict
                );
                let expected = refused(&self.runs[run].steps[step], refusal);
                self.runs[run].expectations.extend(expected);
                self.failed(run, step, is_stale);
            }
        }
        true
    }

    /// Whether two watches show different versions of the object of a step: a slice is watched twice.
    fn is_torn(&self, step: &Step) -> bool {
        let server = self.role.server(step.cluster);
        let is_of = |watch: &&Watch| watch.server == server && watch.info.kind == step.kind;
        let shown = self.watches.iter().filter(is_of);
        let mut shown = shown.filter_map(|watch| watch.version_of(&step.name));
        let first = shown.next();
        shown.any(|other| Some(other) != first)
    }

    fn failed(&mut self, run: usize, step: usize, is_stale_view: bool) {
        let run = &mut self.runs[run];
        run.sent[step] = Sent::Failed;
        run.has_failed = true;
        run.is_stale_view &= is_stale_view;
    }

    fn done(&mut self, run: usize, step: usize, server: usize, env: &Env) {
        let run = &mut self.runs[run];
        run.sent[step] = Sent::Done;
        let sent = &run.steps[step];
        run.expectations.extend(written(sent, &env.servers.0[server].model));
        for (at, what) in &run.measurements {
            if *at == step {
                self.role.remember(&**what);
            }
        }
    }

    /// A run ends whose writes the view shows, or does not show in time.
    fn settle(&mut self, env: &mut Env) -> bool {
        if self.runs.iter().all(|run| run.answered.is_none()) {
            return false;
        }
        self.refresh(env);
        let (snapshot, desks) = (&self.snapshot, &self.desks);
        let is_met = |run: &Run| {
            let reads = desks[run.desk].reads();
            run.expectations.iter().all(|expected| expected.is_met(snapshot, reads))
        };
        let ended = self.runs.iter().position(|run| {
            run.answered.is_some_and(|at| is_met(run) || at + SHOWN_WITHIN <= env.now)
        });
        let Some(at) = ended else { return false };
        let is_met = is_met(&self.runs[at]);
        let run = self.runs.swap_remove(at);
        let again = match (run.has_failed, is_met) {
            (false, true) => Again::Forget,
            (true, true) if run.is_stale_view => Again::AtOnce,
            _ => Again::Later,
        };
        if !is_met {
            self.read_again(&run, env);
        }
        self.desks[run.desk].finish(&run, again, env.now);
        true
    }

    /// What the view did not show in time is read from the server: one that has an older version has gone back in its history.
    fn read_again(&mut self, run: &Run, env: &Env) {
        for expected in &run.expectations {
            let server = self.role.server(expected.cluster);
            let object = env.servers.0[server].model.get(expected.kind, &expected.name);
            let Some(version) = object.and_then(version_in) else { continue };
            let is_newer = |watch: &&Watch| {
                let shown = watch.version_of(&expected.name);
                watch.info.kind == expected.kind
                    && shown.is_some_and(|shown| shown.0 == version.0 && version.1 < shown.1)
            };
            let at_server = |watch: &&Watch| watch.server == server;
            if self.watches.iter().filter(at_server).any(|watch| is_newer(&watch)) {
                let same = self.watches.iter_mut().filter(|watch| watch.server == server);
                same.for_each(Watch::relist);
            }
        }
    }

    /// When it has something to do next, if nothing else happens.
    pub(crate) fn next_timer(&self, env: &Env) -> Option<Duration> {
        if !self.is_up {
            return None;
        }
        let watches = self.watches.iter().filter(|watch| self.reaches(watch, env));
        let watches = watches.flat_map(|watch| {
            let silent = (watch.silent_until > env.now).then_some(watch.silent_until);
            let own = watch.next_timer().map(|at| at.max(watch.silent_until));
            silent.into_iter().chain(own)
        });
        let runs = self.runs.iter().filter_map(|run| run.answered);
        let runs = runs.map(|at| at + SHOWN_WITHIN);
        let open = self.desks.iter().zip(&self.open).filter(|(_, open)| **open);
        let desks = open.filter_map(|(desk, _)| desk.next_due());
        let cut = self.cut_since.map(|since| since + STALE_AFTER).filter(|at| *at > env.now);
        watches.chain(runs).chain(desks).chain(cut).chain([self.role.next_tick()]).min()
    }

    /// The process is killed. It starts again when [`Self::restart`] is called.
    pub(crate) fn crash(&mut self, env: &mut Env) {
        env.crashes += 1;
        self.is_up = false;
        self.stand_by();
    }

    /// A new process takes its place, without a memory. Its watches fare as those of the one before. Returns how many are refused.
    pub(crate) fn restart(&mut self, role: R, now: Duration) -> usize {
        let (name, skew) = (std::mem::take(&mut self.name), self.skew);
        let before = std::mem::take(&mut self.watches);
        *self = Self { skew, ..Self::new(name, role) };
        for (watch, before) in self.watches.iter_mut().zip(&before) {
            watch.fares_as(before, now);
        }
        self.watches.iter().filter(|watch| watch.is_refused()).count()
    }
}

/// What has become of a request.
fn effect(fate: Fate) -> Option<Effect> {
    match fate {
        Fate::Answered | Fate::Late => None,
        Fate::Lost => Some(Effect::Lost),
        Fate::Unanswered => Some(Effect::Unanswered),
        Fate::Dead(Moment::Before) => Some(Effect::KilledBefore),
        Fate::Dead(Moment::After) => Some(Effect::KilledAfter),
        Fate::Dead(Moment::UnderWay) => Some(Effect::KilledUnderWay),
    }
}

fn version_in(object: &Value) -> Option<(String, u64)> {
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str()?.parse().ok()?;
    Some((metadata["uid"].as_str()?.to_owned(), version))
}

/// What the view has to show after a write that was done.
fn written(step: &Step, server: &fleet_model_server::ModelServer) -> Option<Expectation> {
    let object = server.get(step.kind, &step.name).and_then(version_in);
    let until = match (&step.action, object) {
        (
            Action::Delete { at, .. } | Action::Patch { at, .. } | Action::Replace { at, .. },
            None,
        ) => Until::Gone { uid: at.uid.clone() },
        (Action::ConfirmAbsent, _) | (_, None) => return None,
        (_, Some((uid, version))) => Until::AtLeast {
            uid: Uid::from(uid),
            version: ResourceVersion::from(version.to_string()),
        },
    };
    Some(expectation(step, until))
}

/// The same after a refusal.
fn refused(step: &Step, refusal: Refusal) -> Option<Expectation> {
    let until = match (&step.action, refusal) {
        (_, Refusal::AlreadyExists) => Until::Present,
        (
            Action::Delete { at, .. } | Action::Patch { at, .. } | Action::Replace { at, .. },
            Refusal::Conflict,
        ) => Until::NewerThan { uid: at.uid.clone(), version: at.version.clone() },
        (
            Action::Delete { at, .. } | Action::Patch { at, .. } | Action::Replace { at, .. },
            Refusal::NotFound,
        ) => Until::Gone { uid: at.uid.clone() },
        _ => return None,
    };
    Some(expectation(step, until))
}

fn expectation(step: &Step, until: Until) -> Expectation {
    Expectation { cluster: step.cluster, kind: step.kind, name: step.name.clone(), until }
}
