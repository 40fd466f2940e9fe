//! What was compiled or found by a search, on disk, by what it was made from.
//!
//! What is read here is executed: the folder belongs to the user and nobody else can look into it,
//! and an entry whose length or digest is wrong counts as absent. Entries are written elsewhere and
//! renamed, so that readers see all of an entry or nothing. The folder is bounded: what was used
//! longest ago goes first. No failure is an error: it costs a compilation, and one warning a process.

use crate::config::warn_once;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// First bytes of an entry.
const MAGIC: &[u8; 8] = b"svodobj1";
/// Magic, length of the content, digest.
const HEADER: usize = 8 + 8 + 32;

/// Bytes of all entries at most; several thousand kernels.
const MOST: u64 = 256 << 20;

/// A use is written down when the last one that was is older than this.
const RECENT: Duration = Duration::from_secs(60 * 60);

/// A draft as old as this was left by a process that died.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of entries.
#[derive(Debug)]
pub(crate) struct DiskCache {
    folder: PathBuf,
    most: u64,
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
    /// The user's cache of this `kind`: in `SVOD_CACHE_DIR`, else in `svod` in the system's folder for
    /// caches. None where that cannot be used.
    pub(crate) fn user(kind: &str) -> Option<DiskCache> {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        // The system's folders are absolute, or they count as not set.
        let system = |name| set(name).filter(|p| p.is_absolute());
        let base = set("SVOD_CACHE_DIR")
            .or_else(|| Some(system("XDG_CACHE_HOME")?.join("svod")))
            .or_else(|| Some(system("HOME")?.join(".cache").join("svod")));
        let Some(base) = base else {
            warn_once("disk cache", "no cache on disk: neither SVOD_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set");
            return None;
        };
        DiskCache::open(&base.join(kind))
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
        Ok(DiskCache { folder: folder.to_owned(), most: MOST })
    }

    /// The content of an entry.
    pub(crate) fn get(&self, key: DiskKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        match read(&path) {
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
        // One write in some dozens looks after the folder's size, whichever process it is in.
        let trim = || if key.0[0] < 4 { self.trim() } else { Ok(()) };
        if let Err(e) = self.write(key, content).and_then(|()| trim()) {
            warn_once("disk cache", &format!("cannot write to {}: {e}", self.folder.display()));
        }
    }

    /// Removes the entries that were used longest ago, down to three quarters of the bound, where all of
    /// them are beyond it, and drafts that nobody will finish.
    fn trim(&self) -> io::Result<()> {
        let now = SystemTime::now();
        let age = |used: SystemTime| now.duration_since(used).unwrap_or_default();
        let mut entries = Vec::new();
        for item in fs::read_dir(&self.folder)? {
            let item = item?;
            // Another process may have removed it by now.
            let Ok(found) = item.metadata() else { continue };
            let used = found.modified()?;
            if !item.file_name().to_string_lossy().starts_with("draft-") {
                entries.push((used, found.len(), item.path()));
            } else if age(used) > ABANDONED {
                let _ = fs::remove_file(item.path());
            }
        }
        let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        if total <= self.most {
            return Ok(());
        }
        entries.sort();
        for (_, bytes, path) in entries {
            if total <= self.most / 4 * 3 {
                break;
            }
            match fs::remove_file(path) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => total -= bytes,
            }
        }
        Ok(())
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

/// An entry's file, whose time says when it was last used.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Nothing waits for who writes to a pipe.
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > MOST {
        return Err(io::Error::new(ErrorKind::InvalidData, "no file, or a larger one than an entry may be"));
    }
    let mut entry = Vec::with_capacity(found.len() as usize);
    (&mut file).take(found.len()).read_to_end(&mut entry)?;
    if found.modified()?.elapsed().is_ok_and(|age| age > RECENT) {
        // A folder that may only be read serves as well.
        let _ = file.set_modified(SystemTime::now());
    }
    Ok(entry)
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
    use crate::mutate::fuzz_bytes;
    use std::fs::File;
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
    fn c6_fuzzed_entries_are_misses() {
        let folder = Folder::new("fuzzed");
        let cache = DiskCache::open(&folder.0).unwrap();
        let key = DiskKey::new(&["fuzzed"]);
        let entry = |content: &[u8]| {
            cache.put(key, content);
            fs::read(cache.path(key)).unwrap()
        };
        let whole = [&b"some code"[..], b"", &[0; 300]].map(entry);
        fuzz_bytes("entry of the cache", &whole, |bytes| {
            assert!(content(bytes, key).is_none() || whole.iter().any(|entry| entry == bytes));
        });
    }

    #[test]
    fn c6_what_is_no_file_is_a_miss() {
        let folder = Folder::new("pipes");
        let cache = DiskCache::open(&folder.0).unwrap();
        let (pipe, endless, own) = (DiskKey::new(&["p"]), DiskKey::new(&["e"]), DiskKey::new(&["d"]));
        let name = std::ffi::CString::new(cache.path(pipe).to_str().unwrap()).unwrap();
        // SAFETY: the name ends with 0 and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        std::os::unix::fs::symlink("/dev/zero", cache.path(endless)).unwrap();
        fs::create_dir(cache.path(own)).unwrap();
        for key in [pipe, endless, own] {
            assert_eq!(cache.get(key), None);
        }
        for key in [pipe, endless] {
            cache.put(key, b"code");
            assert_eq!(cache.get(key).unwrap(), b"code");
        }
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
    fn c6_the_folder_is_bounded_and_forgets_what_was_used_longest_ago() {
        let folder = Folder::new("bounded");
        let cache = DiskCache { most: 10_000, ..DiskCache::open(&folder.0).unwrap() };
        let keys: Vec<DiskKey> = (0..20).map(|i| DiskKey::new(&[&i.to_string()])).collect();
        for (i, key) in keys.iter().enumerate() {
            cache.write(*key, &[0; 1000 - HEADER]).unwrap();
            let used = SystemTime::now() - RECENT * (40 - i as u32);
            File::options().write(true).open(cache.path(*key)).unwrap().set_modified(used).unwrap();
        }
        let draft = folder.0.join("draft-1-1");
        fs::write(&draft, b"half").unwrap();
        File::options().write(true).open(&draft).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(cache.get(keys[0]).is_some(), "used now");
        cache.trim().unwrap();
        let left: Vec<usize> = (0..20).filter(|i| cache.get(keys[*i]).is_some()).collect();
        assert_eq!(left, [0, 14, 15, 16, 17, 18, 19]);
        assert!(!draft.exists());
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
