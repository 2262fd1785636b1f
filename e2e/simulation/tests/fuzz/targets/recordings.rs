//! Recordings of the map: files that came from anywhere.

use fleetctl::recorded::{MAX_FRAMES, load};

use super::Target;
use crate::cost::Bound;
use crate::examples;

pub(crate) const TARGET: Target = Target {
    name: "recordings",
    is_json: false,
    short: 300,
    bound: Some(Bound { base: 20_000, per_byte: 60, base_bytes: 2 << 20, bytes_per_byte: 400 }),
    examples,
    read,
};

fn examples() -> Vec<Vec<u8>> {
    let objects = examples::objects();
    let services = objects.iter().filter(|((kind, _), _)| kind == "Service");
    let mut lines = vec![
        r#"{"fleetRecording":1,"hubContext":"hub"}"#.to_owned(),
        r#"{"at":"2026-01-01T00:00:00Z"}"#.to_owned(),
        r#"{"member":"east","about":{"context":"east","namesServed":true}}"#.to_owned(),
    ];
    lines.extend(services.map(|(_, object)| {
        format!(r#"{{"member":"east","kind":"services./v1","object":{object}}}"#)
    }));
    lines.push(r#"{"at":"2026-01-01T00:00:10Z"}"#.to_owned());
    lines.push(r#"{"member":"east","kind":"services./v1","gone":"fleet-member-east/web"}"#.to_owned());
    vec![lines.join("\n").into_bytes(), b"{}".to_vec(), Vec::new()]
}

fn read(input: &[u8]) {
    let path = std::env::temp_dir().join(format!("fleet-fuzz-recording-{}", std::process::id()));
    std::fs::write(&path, input).unwrap();
    let loaded = load(&path);
    std::fs::remove_file(&path).unwrap();
    match loaded {
        Ok(recording) => {
            let times = recording.times();
            assert!(!times.is_empty() && times.len() <= MAX_FRAMES && times.is_sorted());
            recording.at(0);
            recording.at(usize::MAX);
        }
        // A reason fits on a few lines, whatever is in the file.
        Err(error) => assert!(format!("{error:#}").len() < 4000, "{error:#}"),
    }
}
