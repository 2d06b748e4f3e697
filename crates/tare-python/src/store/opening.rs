//! Opening a store, and what all faces of an open one share.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use tare::store::{Durability, OpenOptions, Packing, Store, Verify};

use super::batches::Batches;
use crate::error::to_py;

/// How `tare.open_store` opens: its options, checked by the core.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Opening {
    read_only: bool,
    create: bool,
    compressor: String,
    durability: String,
    verify: String,
    threads: Option<usize>,
    cache_bytes: u64,
    driver: Vec<(String, String)>,
}

impl Opening {
    fn options(self) -> tare::Result<OpenOptions> {
        Ok(OpenOptions {
            read_only: self.read_only,
            create: self.create,
            packing: Packing::parse(&self.compressor)?,
            durability: Durability::by_name(&self.durability)?,
            verify: Verify::by_name(&self.verify)?,
            threads: self.threads,
            cache_bytes: self.cache_bytes,
            driver: self.driver,
        })
    }
}

/// An open store, which the faces of its namespaces share.
pub struct Shared {
    /// None once it is closed. Locked with the GIL held and for no longer than a clone takes.
    store: RwLock<Option<Store>>,
    pub batches: Batches,
    /// What was opened, to be closed once.
    closing: Mutex<()>,
}

impl Shared {
    /// The store; an error once it is closed.
    #[inline]
    pub fn store(&self) -> PyResult<Store> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        store.clone().ok_or_else(closed)
    }

    /// Deletes all of it, and lets it go.
    pub fn destroy(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.store()?;
        let done = py.detach(|| store.destroy());
        done.map_err(|error| super::fault::raised(py, error))?;
        self.batches.clear();
        let mut place = self.store.write().unwrap_or_else(PoisonError::into_inner);
        *place = None;
        Ok(())
    }

    /// Makes all of it last, and lets it go.
    pub fn close(&self, py: Python<'_>) -> PyResult<()> {
        let store = {
            let mut place = self.store.write().unwrap_or_else(PoisonError::into_inner);
            place.take()
        };
        let Some(store) = store else {
            return Ok(());
        };
        self.batches.clear();
        let done = py.detach(|| {
            let _alone = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
            let read_only = store.info().read_only;
            let done = if read_only { Ok(()) } else { store.flush() };
            drop(store);
            done
        });
        done.map_err(|error| to_py(py, error))
    }
}

#[cold]
fn closed() -> PyErr {
    PyValueError::new_err("the store is closed: open it again")
}

/// An open store, for the faces of its namespaces.
#[pyclass(frozen, module = "tare._tare", name = "StoreHandle")]
pub struct Handle(pub Arc<Shared>);

#[pyfunction]
fn before_fork() {
    tare::store::before_fork();
}

#[pyfunction]
fn after_fork_in_parent() {
    tare::store::after_fork(false);
}

#[pyfunction]
fn after_fork_in_child() {
    tare::store::after_fork(true);
}

/// Has `os.fork` wait until no thread is in the midst of a store: once, when the first is opened.
fn wait_at_forks(py: Python<'_>) -> PyResult<()> {
    static DONE: PyOnceLock<()> = PyOnceLock::new();
    DONE.get_or_try_init(py, || {
        let os = py.import("os")?;
        if !os.hasattr("register_at_fork")? {
            return Ok(()); // as where nothing forks
        }
        let hooks = PyDict::new(py);
        hooks.set_item("before", wrap_pyfunction!(before_fork, py)?)?;
        hooks.set_item(
            "after_in_parent",
            wrap_pyfunction!(after_fork_in_parent, py)?,
        )?;
        hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, py)?)?;
        os.call_method("register_at_fork", (), Some(&hooks))?;
        PyResult::Ok(())
    })
    .copied()
}

/// Opens a store.
#[pyfunction]
pub fn store_open(py: Python<'_>, url: &str, options: Opening) -> PyResult<Handle> {
    wait_at_forks(py)?;
    let options = options.options().map_err(|error| to_py(py, error))?;
    let store = py.detach(|| Store::open(url, &options));
    let store = store.map_err(|error| super::fault::raised(py, error))?;
    Ok(Handle(Arc::new(Shared {
        store: RwLock::new(Some(store)),
        batches: Batches::default(),
        closing: Mutex::new(()),
    })))
}
