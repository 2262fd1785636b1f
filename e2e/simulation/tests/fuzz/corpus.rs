//! Inputs that are kept.

use std::path::PathBuf;

/// The files of a target, by name.
pub(crate) fn files(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Keeps an input that fails, and returns where.
pub(crate) fn keep(target: &str, input: &[u8]) -> PathBuf {
    let folder = target_folder().join("fuzz").join(target);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{:016x}", fingerprint(input)));
    std::fs::write(&path, input).unwrap();
    path
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from)
}

/// FNV-1a: names of files only.
fn fingerprint(input: &[u8]) -> u64 {
    input.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
