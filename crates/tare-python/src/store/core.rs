//! `StoreCore`: what `tare.store.Store` is derived from, so that its verbs are one call each.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use tare::store::{Durability, Key, KeyRecord, Pending};
use tare::{Error, ErrorKind};

use super::given::{set_options, Given};
use super::keys::{hash, Several};
use super::opening::{Handle, Shared};
use super::reading;
use super::verbs::{self, decoded};
use super::{fault, many, reports, streams, upkeep};
use crate::error::to_py;

/// A namespace of an open store, at the level of the core.
#[pyclass(frozen, subclass, module = "tare._tare", name = "StoreCore")]
pub struct Core {
    pub shared: Arc<Shared>,
    pub namespace: String,
    /// Whether documents and bytes are encoded here: no codec is given for all, and none is fixed.
    pub quick: bool,
    /// Whether a canonical hash is kept beside each value that is set.
    pub canonical: bool,
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (handle, namespace, codec, canonical = false))]
    fn new(
        py: Python<'_>,
        handle: &Handle,
        namespace: &str,
        codec: Option<&str>,
        canonical: bool,
    ) -> PyResult<Self> {
        let store = handle.0.store()?;
        tare::store::check_key(Key::new(namespace, "k")).map_err(|error| to_py(py, error))?;
        Ok(Self {
            shared: Arc::clone(&handle.0),
            namespace: namespace.to_owned(),
            quick: codec.is_none() && store.info().codec.is_none(),
            canonical,
        })
    }

    #[getter]
    fn _handle(&self) -> Handle {
        Handle(Arc::clone(&self.shared))
    }

    /// The namespace that is meant where none is named.
    #[getter]
    fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// Facts of the driver, by name.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        reports::info(py, self.store()?.info())
    }

    /// The value at a key, verified.
    ///
    /// Args:
    ///     key: The key.
    ///     namespace: Its namespace; None for the store's own.
    ///     default: What is given where there is no such key.
    ///
    /// Raises:
    ///     KeyNotFound: No such key, and no default.
    ///     HashNotFound: The key names an object that does not exist.
    ///     Corrupt: The object is damaged, or cannot be decoded.
    #[pyo3(signature = (key, namespace = None, default = Given::Absent))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        namespace: Option<&Bound<'py, PyAny>>,
        default: Given,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = slf.get().key(key, namespace)?;
        Self::look(slf, key, default)
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = slf.get().key(key, None)?;
        Self::look(slf, key, Given::Absent)
    }

    /// Set a key to a value; its content hash.
    ///
    /// Args:
    ///     key: The key.
    ///     value: Any value that a codec holds; a binary file object is read to its end in bounded memory.
    ///     namespace: Its namespace; None for the store's own.
    ///     codec: Codec id; by default chosen by the kind of the value.
    ///     compressor: Compressor id, ``auto`` or ``none``; by default the store's.
    ///     if_hash: The key must name this object now.
    ///     if_absent: There must be no such key yet.
    ///
    /// Raises:
    ///     Conflict: The key is not what was expected.
    ///     Unsupported, EncodeError: No codec holds the value, or this one does not.
    ///     KeyInvalid, ReadOnly, NoSpace, Busy: Nothing was changed.
    #[pyo3(signature = (key, value, namespace = None, codec = None, compressor = None, if_hash = None, if_absent = false))]
    #[allow(clippy::too_many_arguments, reason = "each is an option of the verb")]
    fn set<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        namespace: Option<&Bound<'py, PyAny>>,
        codec: Option<&str>,
        compressor: Option<&str>,
        if_hash: Option<&str>,
        if_absent: bool,
    ) -> PyResult<String> {
        let key = slf.get().key(key, namespace)?;
        let whole = slf.get().shared.batches.is_open();
        let encoded = Self::encoded(slf, value, codec, whole)?;
        let mut options = set_options(slf.py(), compressor, if_hash, if_absent, None)?;
        if slf.get().canonical {
            options.canonical = Self::canonical_of(slf, value)?;
        }
        Self::put(slf, key, &encoded, options)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        Self::set(slf, key, value, None, None, None, None, false).map(drop)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let there = self.del_(py, key, None)?;
        if !there.is_truthy()? {
            let key = self.key(key, None)?;
            return Err(fault::missing(py, &[key], &self.store()?.info().url));
        }
        Ok(())
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self.key(key, None)?;
        let store = self.store()?;
        let found = py.detach(|| store.exists(key));
        found.map_err(|error| fault::about(py, error, key))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let store = self.store()?;
        let counted = py.detach(|| {
            let mut keys = store.keys(&self.namespace, "");
            keys.try_fold(0, |n, key| key.map(|_| n + 1))
        });
        counted.map_err(|error| fault::raised(py, error))
    }

    /// Whether keys exist; their objects are not looked at.
    ///
    /// Args:
    ///     key: A key, or a list of keys.
    ///     namespace: Their namespace, or one for each; None for the store's own.
    ///
    /// Returns:
    ///     A bool, or a list of them for lists.
    #[pyo3(signature = (key, namespace = None))]
    fn exists<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        namespace: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let several = self.several(key, namespace)?;
        let found = self.records(py, &several)?;
        several.answer(py, found.iter().map(Option::is_some).collect())
    }

    /// Delete keys; whether they were there. Objects stay until they are collected.
    ///
    /// Args:
    ///     key: A key, or a list of keys.
    ///     namespace: Their namespace, or one for each; None for the store's own.
    ///
    /// Returns:
    ///     A bool, or a list of them for lists; within a batch whether they are there now.
    #[pyo3(signature = (key, namespace = None))]
    fn del_<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        namespace: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let several = self.several(key, namespace)?;
        let store = self.store()?;
        let keys = several.keys();
        let batches = &self.shared.batches;
        let there = py.detach(|| {
            if !batches.is_open() {
                return store.del(&keys);
            }
            let there = store.get_records(&keys)?;
            let done = batches.with(|pending| keys.iter().try_for_each(|key| pending.del(*key)));
            done.unwrap_or(Ok(()))?;
            Ok(there.iter().map(Option::is_some).collect())
        });
        several.answer(py, there.map_err(|error| fault::raised(py, error))?)
    }

    /// The values of keys, in their order.
    ///
    /// Args:
    ///     keys: The keys.
    ///     namespace: Their namespace, or one for each; None for the store's own.
    ///     missing: What stands for a key that does not exist.
    ///
    /// Raises:
    ///     KeyNotFound: Keys do not exist, and nothing stands for them; `keys` names all of them.
    ///     HashNotFound, Corrupt: As `get` says.
    #[pyo3(signature = (keys, namespace = None, missing = Given::Absent))]
    fn mget<'py>(
        slf: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
        namespace: Option<&Bound<'py, PyAny>>,
        missing: Given,
    ) -> PyResult<Bound<'py, PyList>> {
        many::get(slf, keys, namespace, &missing)
    }

    /// Set keys to values in one batch; their hashes. Of a key that is there twice the last value stands.
    ///
    /// Args:
    ///     keys: The keys.
    ///     values: As many values.
    ///     namespace: Their namespace, or one for each; None for the store's own.
    ///     codec: Codec id for all; by default chosen by the kind of each value.
    ///     compressor: Compressor id, ``auto`` or ``none``; by default the store's.
    ///
    /// Raises:
    ///     As `set`. Where the driver's batches are atomic, nothing was changed then.
    #[pyo3(signature = (keys, values, namespace = None, codec = None, compressor = None))]
    fn mset(
        slf: &Bound<'_, Self>,
        keys: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
        codec: Option<&str>,
        compressor: Option<&str>,
    ) -> PyResult<Vec<String>> {
        many::set(slf, keys, values, namespace, codec, compressor)
    }

    /// Store a value that no key names; its hash. It is collected after grace.
    #[pyo3(signature = (value, codec = None, compressor = None))]
    fn set_value(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        codec: Option<&str>,
        compressor: Option<&str>,
    ) -> PyResult<String> {
        let py = slf.py();
        let encoded = Self::encoded(slf, value, codec, true)?;
        let store = slf.get().store()?;
        let options = set_options(py, compressor, None, false, None)?;
        let parts = encoded.source.parts();
        let name = encoded.codec.name();
        let done = py.detach(|| {
            let source = tare::store::Source::Bytes(&parts);
            store.set_object(name, source, &options)
        });
        done.map(|hash| hash.hex())
            .map_err(|error| fault::raised(py, error))
    }

    /// The value of a hash, whether or not a key names it.
    ///
    /// Args:
    ///     hash: Its hex digits.
    ///     codec: Codec id; by default that of its first writer.
    ///
    /// Raises:
    ///     HashNotFound: No such object.
    ///     Corrupt: It is damaged.
    #[pyo3(signature = (hash, codec = None))]
    fn get_value<'py>(
        slf: &Bound<'py, Self>,
        hash: &str,
        codec: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let wanted = self::hash(py, hash)?;
        let store = slf.get().store()?;
        let found = py.detach(|| reading::opened(&store, store.get_object(&wanted)?));
        let found = found.map_err(|error| fault::raised(py, error))?;
        reading::value(py, found, codec, |codec, bytes| decoded(slf, codec, bytes))
    }

    /// The hash that a value has in this store; nothing is stored.
    #[pyo3(signature = (value, codec = None))]
    fn _hash_bytes(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        codec: Option<&str>,
    ) -> PyResult<String> {
        let encoded = Self::encoded(slf, value, codec, true)?;
        let store = slf.get().store()?;
        let parts = encoded.source.parts();
        Ok(slf.py().detach(|| store.hash_bytes(&parts)).hex())
    }

    /// Let all of these keys name one value; its hash.
    #[pyo3(signature = (keys, value, namespace = None, codec = None, compressor = None))]
    fn fill(
        slf: &Bound<'_, Self>,
        keys: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
        codec: Option<&str>,
        compressor: Option<&str>,
    ) -> PyResult<String> {
        let py = slf.py();
        let several = slf.get().several(keys, namespace)?;
        let encoded = Self::encoded(slf, value, codec, true)?;
        let store = slf.get().store()?;
        let options = set_options(py, compressor, None, false, None)?;
        let (keys, parts) = (several.keys(), encoded.source.parts());
        let done = py.detach(|| store.fill(&keys, encoded.codec.name(), &parts, &options));
        done.map(|hash| hash.hex())
            .map_err(|error| fault::raised(py, error))
    }

    /// Records of keys, as hash, codec and microseconds since 1970; None for each that does not exist.
    #[pyo3(signature = (keys, namespace = None))]
    fn _records(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Option<(String, String, i64)>>> {
        let found = self.records(py, &self.several(keys, namespace)?)?;
        let found = found.into_iter();
        let row = |record: KeyRecord| (record.hash.hex(), record.codec, record.time);
        Ok(found.map(|record| record.map(row)).collect())
    }

    /// The hash of the object that a key names.
    ///
    /// Raises:
    ///     KeyNotFound: No such key.
    #[pyo3(signature = (key, namespace = None))]
    fn get_hash(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let key = self.key(key, namespace)?;
        let store = self.store()?;
        let found = py.detach(|| store.get_hash(key));
        found
            .map(|hash| hash.hex())
            .map_err(|error| fault::about(py, error, key))
    }

    /// Let keys name what other keys name; their hashes. No bytes are moved.
    #[pyo3(signature = (src, dest, namespace, namespace_dest))]
    fn _duplicate(
        &self,
        py: Python<'_>,
        src: &Bound<'_, PyAny>,
        dest: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
        namespace_dest: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let (from, to) = (
            self.several(src, namespace)?,
            self.several(dest, namespace_dest)?,
        );
        let (from, to) = (from.keys(), to.keys());
        if from.len() != to.len() {
            let text = format!("{} keys to copy to {} keys", from.len(), to.len());
            return Err(to_py(py, Error::new(ErrorKind::Usage, text)));
        }
        let pairs: Vec<(Key<'_>, Key<'_>)> = from.into_iter().zip(to).collect();
        let store = self.store()?;
        let done = py.detach(|| store.duplicate(&pairs));
        let done = done.map_err(|error| fault::raised(py, error))?;
        Ok(done.iter().map(tare::store::Hash::hex).collect())
    }

    fn _clear(&self, py: Python<'_>, namespace: &str) -> PyResult<u64> {
        let store = self.store()?;
        py.detach(|| store.clear(namespace))
            .map_err(|error| fault::raised(py, error))
    }

    /// At most `limit` keys behind `after`.
    fn _page(
        &self,
        py: Python<'_>,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PyResult<Vec<String>> {
        let store = self.store()?;
        let page = py.detach(|| store.driver().list_keys(namespace, prefix, after, limit));
        let page = page.map_err(|error| fault::raised(py, error))?;
        Ok(page.into_iter().map(|entry| entry.key).collect())
    }

    /// At most `limit` hashes behind `after`.
    fn _hashes(&self, py: Python<'_>, after: Option<&str>, limit: usize) -> PyResult<Vec<String>> {
        let after = after.map(|text| hash(py, text)).transpose()?;
        let store = self.store()?;
        let page = py.detach(|| store.driver().list_hashes(after.as_ref(), limit));
        let page = page.map_err(|error| fault::raised(py, error))?;
        Ok(page.iter().map(tare::store::Hash::hex).collect())
    }

    /// The namespaces that hold a key, sorted.
    fn namespaces(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let store = self.store()?;
        py.detach(|| store.namespaces())
            .map_err(|error| fault::raised(py, error))
    }

    /// What is known of objects: plain and stored bytes, compressor, codec; None for each that does not exist.
    #[allow(clippy::type_complexity, reason = "a row that Python takes apart")]
    fn _stat_objects(
        &self,
        py: Python<'_>,
        hashes: Vec<String>,
    ) -> PyResult<Vec<Option<(Option<u64>, u64, &'static str, String)>>> {
        many::stat_objects(py, &self.store()?, &hashes)
    }

    /// The file that holds exactly the stored bytes of an object, if there is one; the object was verified.
    fn _local_file(&self, py: Python<'_>, hash: &str) -> PyResult<Option<std::path::PathBuf>> {
        let wanted = self::hash(py, hash)?;
        let store = self.store()?;
        let found = py.detach(|| {
            store.get_object(&wanted)?.verify()?;
            store.driver().local_file(&wanted)
        });
        found.map_err(|error| fault::raised(py, error))
    }

    /// All plain bytes at a key, whatever their codec is.
    fn _bytes<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        namespace: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(String, Bound<'py, PyAny>)> {
        let key = self.key(key, namespace)?;
        verbs::bytes(py, &self.store()?, key)
    }

    /// A verified stream of the plain bytes at a key, and its codec.
    fn _reader(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(streams::Reader, String)> {
        let key = self.key(key, namespace)?;
        streams::Reader::open(py, &self.store()?, key)
    }

    /// A stream into an object that a key names when it is complete.
    fn _writer(
        &self,
        py: Python<'_>,
        codec: &str,
        compressor: Option<&str>,
    ) -> PyResult<streams::Writer> {
        self.refuse_batch(py)?;
        streams::Writer::open(py, &self.store()?, codec, compressor)
    }

    fn _begin(&self, py: Python<'_>, durability: Option<&str>) -> PyResult<()> {
        let durability = durability.map(Durability::by_name).transpose();
        let durability = durability.map_err(|error| to_py(py, error))?;
        let pending = Pending::new(&self.store()?, durability);
        if self.shared.batches.begin(pending) {
            return Ok(());
        }
        let text = "this thread has an open batch: end it first";
        Err(to_py(py, Error::new(ErrorKind::Usage, text)))
    }

    fn _end(&self, py: Python<'_>, commit: bool) -> PyResult<()> {
        let pending = self.shared.batches.end();
        let done = py.detach(|| match pending {
            Some(pending) if commit => pending.commit(),
            _ => Ok(()),
        });
        done.map_err(|error| fault::raised(py, error))
    }

    /// Make all that was acknowledged last, whatever the durability.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.store()?;
        py.detach(|| store.flush())
            .map_err(|error| fault::raised(py, error))
    }

    /// Forget cached objects, and which were verified.
    fn flush_cache(&self) -> PyResult<()> {
        self.store()?.flush_cache();
        Ok(())
    }

    /// Make all of it last and let it go; later calls raise `ValueError`. Those of other namespaces too.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.close(py)
    }

    fn _destroy(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.destroy(py)
    }

    /// Lets keys name objects that exist: rows of namespace, key, hash and codec, in one batch.
    fn _name(&self, py: Python<'_>, rows: Vec<(String, String, String, String)>) -> PyResult<()> {
        many::name(py, &self.store()?, &rows)
    }

    fn _find(&self, py: Python<'_>, canonical: &str) -> PyResult<Vec<String>> {
        let wanted = hash(py, canonical)?;
        let store = self.store()?;
        let found = py.detach(|| store.find(&wanted));
        let found = found.map_err(|error| fault::raised(py, error))?;
        Ok(found.iter().map(tare::store::Hash::hex).collect())
    }

    fn _stat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let store = self.store()?;
        let stat = py.detach(|| store.stat());
        reports::stat(py, &stat.map_err(|error| fault::raised(py, error))?)
    }

    fn _gc<'py>(
        &self,
        py: Python<'py>,
        grace_s: f64,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        upkeep::gc(py, &self.store()?, grace_s, dry_run)
    }

    fn _check<'py>(
        &self,
        py: Python<'py>,
        full: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        upkeep::check(py, &self.store()?, full, progress.as_ref())
    }

    fn _repair<'py>(
        &self,
        py: Python<'py>,
        apply: bool,
        purge: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        upkeep::repair(py, &self.store()?, apply, purge)
    }

    fn exists_object<'py>(
        &self,
        py: Python<'py>,
        hash: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let several = Several::read(hash, None, &self.namespace)?;
        let keys = several.keys();
        let hashes = keys.iter().map(|key| self::hash(py, key.key));
        let hashes: Vec<_> = hashes.collect::<PyResult<_>>()?;
        let store = self.store()?;
        let found = py.detach(|| store.exist_objects(&hashes));
        several.answer(py, found.map_err(|error| fault::raised(py, error))?)
    }

    #[getter]
    fn closed(&self) -> bool {
        self.shared.store().is_err()
    }
}
