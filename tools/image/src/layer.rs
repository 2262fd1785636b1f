//! The file system of the image.

use std::io::Write;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use crate::digest::sha256;

/// A file of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Absolute path in the image.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// Whether it is executable.
    pub executable: bool,
}

/// A compressed layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The tar, compressed with gzip.
    pub bytes: Vec<u8>,
    /// `diff_id`: SHA-256 of the tar before compression.
    pub diff_id: String,
}

impl Layer {
    /// Packs files and their folders, ordered by path. All are owned by root and writable by root only, with modification
    /// time 0.
    ///
    /// # Errors
    /// If a path does not fit into a tar header.
    pub fn pack(files: &[File]) -> Result<Self> {
        let mut files: Vec<_> = files.iter().collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut tar = tar::Builder::new(Vec::new());
        let mut folders: Vec<String> = Vec::new();
        for file in files {
            let path = file.path.trim_start_matches('/');
            for (end, _) in path.match_indices('/') {
                let folder = path[..=end].to_owned();
                if !folders.contains(&folder) {
                    append(&mut tar, &folder, EntryType::Directory, 0o755, &[])?;
                    folders.push(folder);
                }
            }
            let mode = if file.executable { 0o755 } else { 0o644 };
            append(&mut tar, path, EntryType::Regular, mode, &file.bytes)?;
        }
        let tar = tar.into_inner()?;
        // The header contains neither a name nor a time.
        let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        gzip.write_all(&tar)?;
        Ok(Self { bytes: gzip.finish()?, diff_id: sha256(&tar) })
    }
}

fn append(
    tar: &mut tar::Builder<Vec<u8>>,
    path: &str,
    kind: EntryType,
    mode: u32,
    bytes: &[u8],
) -> Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(bytes.len() as u64);
    tar.append_data(&mut header, path, bytes).with_context(|| format!("packing {path}"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn file(path: &str, executable: bool) -> File {
        File { path: path.to_owned(), bytes: path.as_bytes().to_vec(), executable }
    }

    #[test]
    fn a_layer_has_its_files_and_their_folders_owned_by_root() {
        let layer =
            Layer::pack(&[file("/hub-agent", true), file("/etc/ssl/certs/ca.crt", false)]).unwrap();
        let mut tar = Vec::new();
        GzDecoder::new(&layer.bytes[..]).read_to_end(&mut tar).unwrap();
        assert_eq!(sha256(&tar), layer.diff_id);
        let mut archive = tar::Archive::new(&tar[..]);
        let found: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut text = String::new();
                entry.read_to_string(&mut text).unwrap();
                let header = entry.header();
                assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 0));
                let path = entry.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), text)
            })
            .collect();
        let entry = |path: &str, mode, text: &str| (path.to_owned(), mode, text.to_owned());
        assert_eq!(
            found,
            [
                entry("etc/", 0o755, ""),
                entry("etc/ssl/", 0o755, ""),
                entry("etc/ssl/certs/", 0o755, ""),
                entry("etc/ssl/certs/ca.crt", 0o644, "/etc/ssl/certs/ca.crt"),
                entry("hub-agent", 0o755, "/hub-agent"),
            ]
        );
    }

    #[test]
    fn the_bytes_do_not_depend_on_the_order_of_the_files() {
        let (a, b) = (file("/a", true), file("/b/c", false));
        assert_eq!(Layer::pack(&[a.clone(), b.clone()]).unwrap(), Layer::pack(&[b, a]).unwrap());
    }
}
