//! Compiled code on disk, by what it was made from.
//!
//! What is read here is executed: the folder belongs to the user and nobody else can look into it,
//! and an entry whose length or digest is wrong counts as absent. Entries are written elsewhere and
//! renamed, so that readers see all of an entry or nothing. No failure is an error: it costs a
//! compilation, and one warning a process.

use crate::config::warn_once;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// First bytes of an entry.
const MAGIC: &[u8; 8] = b"svodobj1";
/// Magic, length of the content, digest.
const HEADER: usize = 8 + 8 + 32;

/// A folder of entries.
#[derive(Debug)]
pub(crate) struct DiskCache {
    folder: PathBuf,
}

/// Names an entry: a digest of everything that its content depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiskKey([u8; 32]);

impl DiskKey {
    /// The key of code that depends on these texts, and on this build.
    pub(crate) fn new(parts: &[&str]) -> DiskKey {
        let mut hasher = blake3::Hasher::new();
        for part in [env!("CARGO_PKG_VERSION"), env!("SVOD_BUILD_ID")].iter().chain(parts) {
            // Lengths first, so that no two lists of texts read the same.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        DiskKey(*hasher.finalize().as_bytes())
    }
}

impl DiskCache {
    /// The user's cache: `SVOD_CACHE_DIR`, else `svod` in the system's folder for caches. None where
    /// that cannot be used.
    pub(crate) fn user() -> Option<DiskCache> {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let base = set("SVOD_CACHE_DIR")
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("svod")))
            .or_else(|| Some(set("HOME")?.join(".cache").join("svod")))?;
        DiskCache::open(&base.join("code"))
            .inspect_err(|e| warn_once("disk cache", &format!("no cache in {}: {e}", base.display())))
            .ok()
    }

    /// The cache in this folder, made if it is not there.
    pub(crate) fn open(folder: &Path) -> io::Result<DiskCache> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let found = fs::symlink_metadata(folder)?;
        // SAFETY: `geteuid` has no preconditions.
        let user = unsafe { libc::geteuid() };
        if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
            let what = "the folder belongs to somebody else, or others may enter it";
            return Err(io::Error::new(ErrorKind::PermissionDenied, what));
        }
        Ok(DiskCache { folder: folder.to_owned() })
    }

    /// The content of an entry.
    pub(crate) fn get(&self, key: DiskKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        match fs::read(&path) {
            Ok(entry) => {
                let content = content(&entry, key).map(<[u8]>::to_vec);
                if content.is_none() {
                    warn_once("disk cache", &format!("{} is damaged and is made anew", path.display()));
                }
                content
            }
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => {
                warn_once("disk cache", &format!("cannot read {}: {e}", path.display()));
                None
            }
        }
    }

    /// Sets the content of an entry.
    pub(crate) fn put(&self, key: DiskKey, content: &[u8]) {
        if let Err(e) = self.write(key, content) {
            warn_once("disk cache", &format!("cannot write to {}: {e}", self.folder.display()));
        }
    }

    fn write(&self, key: DiskKey, content: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!("draft-{}-{number}", std::process::id()));
        let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(&(content.len() as u64).to_le_bytes())?;
            file.write_all(&digest(content, key))?;
            file.write_all(content)
        });
        written.and_then(|()| fs::rename(&draft, self.path(key))).inspect_err(|_| {
            // What remains of a failure, if anything does.
            let _ = fs::remove_file(&draft);
        })
    }

    fn path(&self, key: DiskKey) -> PathBuf {
        self.folder.join(blake3::Hash::from_bytes(key.0).to_hex().as_str())
    }
}

/// The digest of an entry, which also depends on its key: an entry under another name is no entry.
fn digest(content: &[u8], key: DiskKey) -> [u8; 32] {
    *blake3::Hasher::new_keyed(&key.0).update(content).finalize().as_bytes()
}

fn content(entry: &[u8], key: DiskKey) -> Option<&[u8]> {
    let (header, content) = entry.split_at_checked(HEADER)?;
    let sound = header[..8] == *MAGIC
        && header[8..16] == (content.len() as u64).to_le_bytes()
        && header[16..] == digest(content, key);
    sound.then_some(content)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("svod-test-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn c6_entries_come_back_as_they_were() {
        let folder = Folder::new("back");
        let cache = DiskCache::open(&folder.0).unwrap();
        let key = DiskKey::new(&["a", "bc"]);
        assert_ne!(key, DiskKey::new(&["ab", "c"]));
        assert_eq!(cache.get(key), None);
        cache.put(key, b"code");
        cache.put(key, b"code");
        assert_eq!(DiskCache::open(&folder.0).unwrap().get(key).unwrap(), b"code");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn c6_damaged_entries_are_misses() {
        let folder = Folder::new("damaged");
        let cache = DiskCache::open(&folder.0).unwrap();
        let (key, other) = (DiskKey::new(&["x"]), DiskKey::new(&["y"]));
        cache.put(key, b"some code");
        let whole = fs::read(cache.path(key)).unwrap();
        for len in 0..whole.len() {
            fs::write(cache.path(key), &whole[..len]).unwrap();
            assert_eq!(cache.get(key), None, "cut to {len} bytes");
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(cache.path(key), &flipped).unwrap();
            assert_eq!(cache.get(key), None, "bit {bit}");
        }
        fs::write(cache.path(other), &whole).unwrap();
        assert_eq!(cache.get(other), None);
        cache.put(key, b"new");
        assert_eq!(cache.get(key).unwrap(), b"new");
    }

    #[test]
    fn c6_folders_that_others_may_enter_are_refused() {
        let folder = Folder::new("open");
        fs::create_dir_all(&folder.0).unwrap();
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(DiskCache::open(&folder.0).unwrap_err().kind(), ErrorKind::PermissionDenied);
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(DiskCache::open(&folder.0).is_ok());
    }

    #[test]
    fn c6_a_folder_that_vanishes_is_no_error() {
        let folder = Folder::new("gone");
        let cache = DiskCache::open(&folder.0).unwrap();
        fs::remove_dir_all(&folder.0).unwrap();
        let key = DiskKey::new(&["z"]);
        cache.put(key, b"code");
        assert_eq!(cache.get(key), None);
    }
}
