//! Many keys at once: one call of the core for all of them.

use pyo3::prelude::*;
use pyo3::types::PyList;
use tare::store::{Batch, Change, Expect, Hash, Key, NewKey, Pending, Store};
use tare::{Error, ErrorKind};

use super::core::Core;
use super::fault;
use super::given::{set_options, Given};
use super::keys::{self, text, Several};
use super::reading;
use super::values::Encoded;
use super::verbs::{decoded, SIGNALLED};
use crate::error::to_py;
use crate::signals::Signals;

/// Keys as Python has them, or as they were made of two lists.
enum Names<'py> {
    /// Of one namespace: their texts are lent.
    Lent(Vec<Bound<'py, PyAny>>),
    Made(Several),
}

impl<'py> Names<'py> {
    fn read(
        core: &Core,
        keys: &Bound<'py, PyAny>,
        namespace: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let one_space = namespace
            .is_none_or(|given| given.is_none() || given.is_instance_of::<pyo3::types::PyString>());
        match keys.cast::<PyList>() {
            Ok(list) if one_space => Ok(Self::Lent(list.iter().collect())),
            _ => Ok(Self::Made(core.several(keys, namespace)?)),
        }
    }

    fn keys<'a>(&'a self, space: &'a str) -> PyResult<Vec<Key<'a>>> {
        match self {
            Self::Made(several) => Ok(several.keys()),
            Self::Lent(names) => {
                let keys = names.iter().map(|name| Ok(Key::new(space, text(name)?)));
                keys.collect()
            }
        }
    }
}

/// The values of keys, in their order.
///
/// # Errors
/// `KeyNotFound` for all that are missing, if nothing stands for them.
pub fn get<'py>(
    slf: &Bound<'py, Core>,
    names: &Bound<'py, PyAny>,
    namespace: Option<&Bound<'py, PyAny>>,
    missing: &Given,
) -> PyResult<Bound<'py, PyList>> {
    let py = slf.py();
    let store = slf.get().store()?;
    let names = Names::read(slf.get(), names, namespace)?;
    let space = match &names {
        Names::Lent(_) => slf.get().space(namespace)?,
        Names::Made(_) => "",
    };
    let keys = names.keys(space)?;
    let found = py.detach(|| reading::gathered(&store, &keys));
    let mut found = found.map_err(|error| fault::raised(py, error))?;
    let absent = (0..).zip(&keys).filter(|(at, _)| found.is_absent(*at));
    let absent: Vec<Key<'_>> = absent.map(|(_, key)| *key).collect();
    let mut instead = Vec::new();
    if !absent.is_empty() {
        let hooked: bool = slf.getattr(pyo3::intern!(py, "_has_hook"))?.extract()?;
        if !hooked && matches!(missing, Given::Absent) {
            return Err(fault::missing(py, &absent, &store.info().url));
        }
        for key in &absent {
            let given = match missing {
                Given::Absent => Given::Absent,
                Given::Value(value) => Given::Value(value.clone_ref(py)),
            };
            instead.push(Core::missed(slf, *key, given)?);
        }
    }
    let mut instead = instead.into_iter();
    let out = PyList::empty(py);
    for (at, key) in keys.into_iter().enumerate() {
        let decode = |codec: &str, bytes| decoded(slf, codec, bytes);
        let value = reading::value_of(py, found.take(at), key, decode)?;
        let value = value.or_else(|| instead.next());
        let value = value.unwrap_or_else(|| py.None().into_bound(py));
        out.append(value)?;
    }
    Ok(out)
}

/// Sets keys to values in one batch; their hashes.
///
/// # Errors
/// What the encoders and the store say.
pub fn set(
    slf: &Bound<'_, Core>,
    names: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    namespace: Option<&Bound<'_, PyAny>>,
    codec: Option<&str>,
    compressor: Option<&str>,
) -> PyResult<Vec<String>> {
    let py = slf.py();
    let this = slf.get();
    let store = this.store()?;
    let names = Names::read(this, names, namespace)?;
    let space = match &names {
        Names::Lent(_) => this.space(namespace)?,
        Names::Made(_) => "",
    };
    let keys = names.keys(space)?;
    let given = values.try_iter()?;
    let encoded = given.map(|value| Core::encoded(slf, &value?, codec, true));
    let encoded: Vec<Encoded> = encoded.collect::<PyResult<_>>()?;
    if encoded.len() != keys.len() {
        let text = format!("{} keys and {} values", keys.len(), encoded.len());
        return Err(to_py(py, Error::new(ErrorKind::Usage, text)));
    }
    let total: usize = encoded.iter().map(|one| one.source.len()).sum();
    let signals = (total >= SIGNALLED).then(Signals::default);
    let options = set_options(py, compressor, None, false, signals.as_ref())?;
    let parts: Vec<Vec<&[u8]>> = encoded.iter().map(|one| one.source.parts()).collect();
    let codecs = encoded.iter().map(|one| one.codec.name());
    let values = keys.iter().zip(codecs).zip(&parts);
    let values: Vec<(Key<'_>, &str, &[&[u8]])> = values
        .map(|((key, codec), parts)| (*key, codec, parts.as_slice()))
        .collect();
    let batches = &this.shared.batches;
    let done = py.detach(|| {
        if !batches.is_open() {
            return store.set_many(&values, &options);
        }
        let all = |pending: &mut Pending| {
            let set = values.iter();
            set.map(|(key, codec, parts)| pending.set(*key, codec, parts, &options))
                .collect()
        };
        batches.with(all).unwrap_or_else(|| Ok(Vec::new()))
    });
    match done {
        Ok(hashes) => Ok(hashes.iter().map(Hash::hex).collect()),
        Err(error) => Err(signals.unwrap_or_default().raise(py, error)),
    }
}

/// Lets keys name objects that exist: rows of namespace, key, hash and codec, in one batch.
///
/// # Errors
/// `KeyInvalid`; `HashNotFound`, with nothing changed.
pub fn name(
    py: Python<'_>,
    store: &Store,
    rows: &[(String, String, String, String)],
) -> PyResult<()> {
    let mut changes = Vec::with_capacity(rows.len());
    for (space, key, hash, codec) in rows {
        let key = Key::new(space, key);
        let checked = tare::store::check_key(key).and_then(|()| store.driver().check_key(key));
        checked.map_err(|error| fault::about(py, error, key))?;
        let hash = keys::hash(py, hash)?;
        changes.push(Change {
            key,
            to: Some(NewKey { hash, codec }),
            expect: Expect::Any,
        });
    }
    let batch = Batch {
        objects: Vec::new(),
        changes,
        durability: store.options().durability,
    };
    py.detach(|| store.driver().apply(batch))
        .map(drop)
        .map_err(|error| fault::raised(py, error))
}

/// Plain and stored bytes, compressor and codec of an object.
type Row = (Option<u64>, u64, &'static str, String);

/// What is known of objects; None for each that does not exist.
///
/// # Errors
/// What the store says.
pub fn stat_objects(
    py: Python<'_>,
    store: &Store,
    hashes: &[String],
) -> PyResult<Vec<Option<Row>>> {
    let hashes = hashes.iter().map(|text| keys::hash(py, text));
    let hashes: Vec<_> = hashes.collect::<PyResult<_>>()?;
    let found = py.detach(|| store.driver().stat_objects(&hashes));
    let found = found.map_err(|error| fault::raised(py, error))?;
    let rows = found.into_iter().map(|meta| {
        meta.map(|meta| {
            let name = meta.compressor.name();
            (meta.plain_len, meta.stored_len, name, meta.codec)
        })
    });
    Ok(rows.collect())
}
