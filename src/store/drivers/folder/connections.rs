//! Connections to the index: one that writes and a few that read, of each process its own.
//!
//! A connection must not be used behind a fork, and even a new one would not do: `SQLite` counts the locks
//! of a process for all its connections to a file, and a child has none of the locks that it is told
//! about. So the first call in a child takes the inherited connections down, without a checkpoint and
//! without touching the files, and only then opens its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::{io_fault, InIndex};
use super::filesystem::{own_pid, path_bytes, Root};
use super::schema::Names;
use super::syncer::Syncer;
use super::{layout, schema};
use crate::store::fork::inside;
use crate::{Error, ErrorKind, Result};

/// How connections are made.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub read_only: bool,
    /// One process and one connection, without shared memory.
    pub exclusive: bool,
    pub busy_timeout: Duration,
}

/// A connection and what it knows of the names in the index.
pub(super) struct Link {
    pub conn: Connection,
    pub names: Names,
    /// The file's state, where no writer was when it was opened: it is read without locks then.
    still: Option<(u64, i64)>,
}

/// The connections of one process.
pub(super) struct Process {
    pid: u32,
    writer: Mutex<Option<Link>>,
    readers: Mutex<Vec<Link>>,
    pub syncer: Syncer,
    /// Whether the process was forked while a thread of its parent was in the midst of `SQLite`.
    broken: AtomicBool,
}

/// The connections of the process that opened the store, and then those of its child, and of its child.
struct Slot {
    process: Arc<Process>,
    next: OnceLock<Box<Slot>>,
}

pub(super) struct Connections {
    pub root: Arc<Root>,
    pub config: Config,
    first: Slot,
}

/// All connections of this process: a child takes down what it inherited, of every store.
static ALL: Mutex<Vec<Weak<Process>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    fn new(root: &Arc<Root>) -> Arc<Self> {
        let process = Arc::new(Self {
            pid: own_pid(),
            writer: Mutex::new(None),
            readers: Mutex::new(Vec::new()),
            syncer: Syncer::new(root.clone()),
            broken: AtomicBool::new(false),
        });
        let mut all = lock(&ALL);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&process));
        process
    }

    /// Takes down connections that a fork left here; false if one of them was in use.
    fn take_down(&self) -> bool {
        let (Ok(mut writer), Ok(mut readers)) = (self.writer.try_lock(), self.readers.try_lock())
        else {
            return false;
        };
        for link in writer.take().into_iter().chain(readers.drain(..)) {
            // Nothing of the files is touched: the parent goes on with them.
            let quiet = link
                .conn
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            match quiet {
                Ok(_) => drop(link),
                Err(_) => std::mem::forget(link),
            }
        }
        true
    }
}

impl Connections {
    pub fn new(root: Arc<Root>, config: Config) -> Self {
        let _inside = inside();
        let first = Slot {
            process: Process::new(&root),
            next: OnceLock::new(),
        };
        Self {
            root,
            config,
            first,
        }
    }

    /// The connections of this process.
    pub fn process(&self) -> Result<&Process> {
        let pid = own_pid();
        let mut slot = &self.first;
        while slot.process.pid != pid {
            slot = slot.next.get_or_init(|| Box::new(self.behind_fork(pid)));
        }
        if slot.process.broken.load(Ordering::Relaxed) {
            let text =
                "the process was forked while another thread used a store: open it in the child, \
                        or fork when no thread is at work";
            return Err(Error::new(ErrorKind::Usage, text).with_format("folder"));
        }
        Ok(&slot.process)
    }

    fn behind_fork(&self, pid: u32) -> Slot {
        let inherited = match ALL.try_lock() {
            Ok(all) => all.iter().filter_map(Weak::upgrade).collect(),
            Err(_) => Vec::new(),
        };
        let known = !inherited.is_empty();
        let old = inherited.iter().filter(|process| process.pid != pid);
        // All of them, whatever the first says.
        let down = old.fold(known, |down, process| process.take_down() && down);
        // The parent's last handle must not be dropped here.
        inherited.into_iter().for_each(std::mem::forget);
        let process = Process::new(&self.root);
        if !down || self.config.exclusive {
            process.broken.store(true, Ordering::Relaxed);
        }
        Slot {
            process,
            next: OnceLock::new(),
        }
    }

    /// Calls with a connection that reads.
    ///
    /// What is called must take no harm from being called again: a file that was nobody's when it was
    /// opened can turn out to have changed meanwhile.
    pub fn read<T>(&self, mut work: impl FnMut(&mut Link) -> Result<T>) -> Result<T> {
        const TRIES: u32 = 5;
        let _inside = inside();
        let process = self.process()?;
        if self.config.exclusive {
            return self.with_writer(process, work);
        }
        for tried in 1.. {
            let free = lock(&process.readers).pop();
            let mut link = match free {
                Some(link) => link,
                None => self.open_reader()?,
            };
            if !self.is_still(&link) && tried < TRIES {
                continue;
            }
            let done = work(&mut link);
            if !self.is_still(&link) && tried < TRIES {
                continue;
            }
            if done.is_ok() {
                lock(&process.readers).push(link);
            }
            return done;
        }
        Err(Error::new(ErrorKind::Internal, "no connection").with_format("folder"))
    }

    /// Refuses what was opened for reading.
    pub fn writable(&self) -> Result<()> {
        if !self.config.read_only {
            return Ok(());
        }
        let text = "the store was opened for reading only";
        let error = Error::new(ErrorKind::ReadOnly, text).with_format("folder");
        Err(error.with_path(&self.root.path))
    }

    /// Calls with the connection that writes, one thread at a time.
    pub fn write<T>(&self, work: impl FnOnce(&mut Link) -> Result<T>) -> Result<T> {
        self.writable()?;
        self.with_writer(self.process()?, work)
    }

    fn with_writer<T>(
        &self,
        process: &Process,
        work: impl FnOnce(&mut Link) -> Result<T>,
    ) -> Result<T> {
        let _inside = inside();
        let mut held = lock(&process.writer);
        let mut link = match held.take() {
            Some(link) => link,
            None => self.open_writer()?,
        };
        let done = work(&mut link);
        // A failed transaction that could not be taken back: a new connection has none.
        if link.conn.is_autocommit() {
            *held = Some(link);
        }
        done
    }

    /// Opens the connection that writes and makes the tables, if there are none.
    pub fn open_writer(&self) -> Result<Link> {
        let _inside = inside();
        let root = &self.root;
        let flags = if self.config.read_only {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        } else {
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
        };
        let link = self.open(flags, None)?;
        if self.config.read_only {
            return Ok(link);
        }
        let conn = &link.conn;
        let mode = if self.config.exclusive {
            conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL")
                .in_index(root)?;
            "TRUNCATE"
        } else {
            "WAL"
        };
        conn.pragma_update(None, "page_size", schema::PAGE)
            .in_index(root)?;
        let set = format!("PRAGMA journal_mode = {mode}");
        let got: String = conn.query_row(&set, [], |row| row.get(0)).in_index(root)?;
        if !got.eq_ignore_ascii_case(mode) {
            let text = format!("the index stays in the journal mode {got:?}, {mode} is needed");
            return Err(Error::new(ErrorKind::Unsupported, text).with_path(&root.path));
        }
        schema::create(conn).in_index(root)?;
        Ok(link)
    }

    fn open_reader(&self) -> Result<Link> {
        if !self.config.read_only {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
            let link = self.open(flags, None)?;
            link.conn
                .pragma_update(None, "query_only", true)
                .in_index(&self.root)?;
            return Ok(link);
        }
        // Without a log no process has the index open: it can be read as it is, and no file is made.
        let still = if self.has_log() { None } else { self.state() };
        self.open(OpenFlags::SQLITE_OPEN_READ_ONLY, still)
    }

    fn open(&self, flags: OpenFlags, still: Option<(u64, i64)>) -> Result<Link> {
        let root = &self.root;
        let mut address = b"file:".to_vec();
        for byte in path_bytes(&root.join(layout::INDEX)) {
            match byte {
                b'%' | b'?' | b'#' => address.extend(format!("%{byte:02x}").into_bytes()),
                other => address.push(*other),
            }
        }
        if still.is_some() {
            address.extend(b"?immutable=1");
        }
        let address = std::str::from_utf8(&address).map_err(|_| {
            let text = "the path of a store must be UTF-8";
            Error::new(ErrorKind::Usage, text).with_path(&root.path)
        })?;
        let flags = flags
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
        // The folder's own path may lead through links; a link in the place of the index is not followed.
        let seen = root.stat(layout::INDEX);
        if seen.is_ok_and(|seen| !seen.is_file) {
            let error = std::io::Error::other("not a regular file");
            return Err(io_fault(
                root,
                layout::INDEX,
                "cannot open the index",
                error,
            ));
        }
        let conn = Connection::open_with_flags(address, flags).in_index(root)?;
        conn.busy_timeout(self.config.busy_timeout).in_index(root)?;
        conn.set_prepared_statement_cache_capacity(64);
        for (setting, on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false),
        ] {
            conn.set_db_config(setting, on).in_index(root)?;
        }
        conn.execute_batch(
            "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON",
        )
        .in_index(root)?;
        Ok(Link {
            conn,
            names: Names::default(),
            still,
        })
    }

    fn has_log(&self) -> bool {
        self.root.stat(layout::INDEX_LOG).is_ok()
    }

    fn state(&self) -> Option<(u64, i64)> {
        let seen = self.root.stat(layout::INDEX).ok()?;
        Some((seen.len, seen.changed))
    }

    fn is_still(&self, link: &Link) -> bool {
        link.still.is_none() || (!self.has_log() && link.still == self.state())
    }

    /// Closes what this process has; the last process that does so leaves no log.
    pub fn close(&self) {
        let _inside = inside();
        let pid = own_pid();
        let mut slot = Some(&self.first);
        while let Some(here) = slot {
            if here.process.pid == pid {
                here.process.syncer.stop();
                lock(&here.process.readers).clear();
                *lock(&here.process.writer) = None;
            }
            slot = here.next.get().map(Box::as_ref);
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.close();
        let pid = own_pid();
        let mut slot = Some(&self.first);
        while let Some(here) = slot {
            if here.process.pid != pid {
                // What is the parent's stays as it is.
                std::mem::forget(Arc::clone(&here.process));
            }
            slot = here.next.get().map(Box::as_ref);
        }
    }
}
