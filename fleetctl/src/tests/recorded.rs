//! Recordings: what is written is read again, and what is none is refused.

use std::path::PathBuf;

use fleet_accumulator::Snapshot as _;
use fleet_api::kinds;

use super::world::{World, web};
use crate::recorded::{FleetObjects, Writer, load};
use crate::status::status;
use crate::view::view;

/// A file that goes with the value.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fleetctl-{name}-{}", std::process::id()));
        std::fs::remove_file(&path).ok();
        Self(path)
    }

    fn with(name: &str, text: impl AsRef<[u8]>) -> Self {
        let file = Self::new(name);
        std::fs::write(&file.0, text).unwrap();
        file
    }
}

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// A recording of a fleet in which an export ends.
fn frames() -> [FleetObjects; 3] {
    let mut world = World::shared();
    let first = world.objects();
    world.own("east").delete(kinds::SERVICE_EXPORT, &web()).unwrap();
    world.hub.advance(5);
    let second = world.objects();
    world.settle();
    world.blind = Some("west");
    [first, second, world.objects()]
}

#[test]
fn what_is_written_is_read_again() {
    let file = File::new("whole");
    let frames = frames();
    let mut writer = Writer::create(&file.0).unwrap();
    for frame in &frames {
        assert!(writer.add(frame).unwrap());
    }
    let recording = load(&file.0).unwrap();
    assert_eq!(recording.times(), frames.each_ref().map(|frame| frame.at));
    for (at, frame) in frames.iter().enumerate() {
        let read = recording.at(at);
        let known = |fleet: &FleetObjects| {
            let members = fleet.members.iter();
            let members =
                members.map(|(name, it)| (name.clone(), it.unseen.clone(), it.context.clone()));
            (fleet.at, members.collect::<Vec<_>>())
        };
        assert_eq!(known(&read), known(frame));
        let shown = |fleet: &FleetObjects| {
            let picture = fleet.picture();
            view(&picture, status(&picture), &[])
        };
        if at < 2 {
            assert_eq!(read, *frame);
        }
        assert_eq!(shown(&read).services, shown(frame).services, "frame {at}");
    }
    assert_eq!(recording.at(99).at, frames[2].at, "the last one that there is");
}

#[test]
fn a_clock_that_is_set_back_makes_no_file_unreadable() {
    let file = File::new("back-in-time");
    let [first, mut second, mut third] = frames();
    second.at = first.at.checked_sub(jiff::SignedDuration::from_secs(90)).unwrap();
    third.at = first.at.checked_sub(jiff::SignedDuration::from_secs(60)).unwrap();
    let mut writer = Writer::create(&file.0).unwrap();
    for frame in [&first, &second, &third] {
        assert!(writer.add(frame).unwrap());
    }
    assert_eq!(load(&file.0).unwrap().times(), [first.at; 3]);
}

/// A picture of what was read is the picture of what is watched.
#[test]
fn objects_make_the_same_picture_as_watches() {
    for world in [World::shared(), World::exported(), World::both(), World::standard_shared()] {
        let (watched, read) = (world.picture(), world.objects().picture());
        let of = |picture: &crate::picture::Picture| view(picture, status(picture), &[]);
        assert_eq!(of(&read), of(&watched));
        assert_eq!(read.hub.internal_exports.len(), watched.hub.internal_exports.len());
        assert!(read.hub.complete([hub_agent::snapshot::HubSnapshot::internal_exports()].into()));
    }
}

#[test]
fn others_may_not_read_it_and_nothing_is_overwritten() {
    use std::os::unix::fs::PermissionsExt as _;

    let file = File::new("mode");
    Writer::create(&file.0).unwrap();
    let mode = std::fs::metadata(&file.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(Writer::create(&file.0).is_err());
}

const HEAD: &str = "{\"fleetRecording\":1}\n";
const FRAME: &str = "{\"at\":\"2026-01-01T00:00:00Z\"}\n";

#[track_caller]
fn refuses(name: &str, text: &str, words: &[&str]) {
    let file = File::with(name, text);
    let error = format!("{:#}", load(&file.0).unwrap_err());
    for word in words.iter().chain(&["is not a recording of fleetctl"]) {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn hostile_files_are_refused_with_the_line() {
    let change = |text: &str| format!("{HEAD}{FRAME}{text}\n");
    let object = |kind: &str, metadata: &str| {
        change(&format!("{{\"kind\":\"{kind}\",\"object\":{{\"metadata\":{metadata}}}}}"))
    };
    refuses("empty", "", &["it is empty"]);
    refuses("other", "hello\n", &["line 1"]);
    refuses("version", "{\"fleetRecording\":2}\n", &["version 2", "reads version 1"]);
    refuses("field", "{\"fleetRecording\":1,\"more\":1}\n", &["line 1", "more"]);
    refuses("frameless", HEAD, &["it has no frame"]);
    refuses(
        "early",
        &format!("{HEAD}{{\"member\":\"a\",\"about\":{{}}}}\n"),
        &["line 2", "before the first frame"],
    );
    refuses(
        "kind",
        &object("secrets./v1", "{\"name\":\"a\",\"namespace\":\"b\"}"),
        &["line 3", "no kind"],
    );
    refuses("name", &object("services./v1", "{\"namespace\":\"b\"}"), &["no name"]);
    refuses("place", &object("services./v1", "{\"name\":\"a\"}"), &["wrong namespace"]);
    refuses(
        "long",
        &object("namespaces./v1", &format!("{{\"name\":\"{}\"}}", "a".repeat(300))),
        &["1 to 253"],
    );
    for (index, name) in ["a; id", "$(id)", "a\\nid", "-n", "ü", "a/b"].into_iter().enumerate() {
        let words = ["line 3", "no name has"];
        let named = format!("{{\"name\":\"{name}\"}}");
        refuses(&format!("name{index}"), &object("namespaces./v1", &named), &words);
        let spaced = format!("{{\"name\":\"a\",\"namespace\":\"{name}\"}}");
        refuses(&format!("namespace{index}"), &object("services./v1", &spaced), &words);
        let member = change(&format!("{{\"member\":\"{name}\",\"about\":{{}}}}"));
        refuses(&format!("member{index}"), &member, &words);
    }
    refuses("neither", &change("{\"kind\":\"services./v1\"}"), &["neither"]);
    refuses("both", &change("{\"at\":\"2026-01-01T00:00:00Z\",\"member\":\"a\"}"), &["neither"]);
    let back = format!("{HEAD}{FRAME}{{\"at\":\"2025-01-01T00:00:00Z\"}}\n");
    refuses("back", &back, &["line 3", "order of time"]);
    refuses("endless", &change(&"x".repeat(5 << 20)), &["4194304 bytes"]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    refuses(
        "deep",
        &change(&format!("{{\"kind\":\"services./v1\",\"object\":{deep}}}")),
        &["line 3"],
    );
    refuses("text", &format!("{HEAD}{FRAME}\u{0}\u{1}\n"), &["line 3"]);
    let many: Vec<_> =
        (0..2002).map(|at| format!("{{\"member\":\"m{at}\",\"about\":{{}}}}\n")).collect();
    let many = many.concat();
    refuses("members", &format!("{HEAD}{FRAME}{many}"), &["more than 2000 members"]);
}

#[test]
fn binary_files_folders_and_what_is_not_there_are_refused() {
    let file = File::with("binary", [0xff, 0xfe, 0x00, b'\n']);
    assert!(load(&file.0).is_err());
    let folder = load(&std::env::temp_dir()).unwrap_err();
    assert!(format!("{folder:#}").contains("is not a file"), "{folder:#}");
    let none = load(std::path::Path::new("/nonexistent")).unwrap_err();
    assert!(format!("{none:#}").contains("open /nonexistent"), "{none:#}");
}

/// What was cut off counts as not written.
#[test]
fn the_end_of_a_recording_may_be_missing() {
    let file = File::with("cut", format!("{HEAD}{FRAME}{{\"at\":\"2026-01-0"));
    assert_eq!(load(&file.0).unwrap().times().len(), 1);
}

/// Objects that cannot be read as their kind are defects of the picture, as with watches.
#[test]
fn an_object_of_another_shape_is_a_defect() {
    let odd = "{\"kind\":\"services./v1\",\"member\":\"east\",\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"},\"spec\":7}}";
    let file = File::with("odd", format!("{HEAD}{FRAME}{odd}\n"));
    let picture = load(&file.0).unwrap().at(0).picture();
    let services = &picture.members["east"].snapshot.services;
    assert_eq!((services.len(), services.defects().count()), (0, 1));
}
