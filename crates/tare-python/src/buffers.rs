//! Python's buffers as bytes, and bytes into Python's buffers.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

/// From this size on zeroed memory comes from the system, where it costs nothing.
const ZEROED_BYTES: usize = 64 << 10;
/// From this size on it is asked for in huge pages, as `NumPy` does for its arrays: each fault of a usual page
/// costs as much as copying it twice.
const HUGE_BYTES: usize = 4 << 20;

/// Lends the bytes of `data`: those of `bytes`, and of a `memoryview` of `bytes`, as they are,
/// all others as a copy, because another thread may change them while the GIL is released.
///
/// That a buffer is read-only says nothing: `memoryview(bytearray(9)).toreadonly()` is, and its
/// bytes change.
pub fn with_bytes<T>(
    data: &Bound<'_, PyAny>,
    work: impl FnOnce(&[u8]) -> PyResult<T>,
) -> PyResult<T> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return work(bytes.as_bytes());
    }
    let buffer = contiguous(data)?;
    let bytes = lent(&buffer);
    if of_bytes(data) {
        return work(bytes);
    }
    let copy = bytes.to_vec();
    work(&copy)
}

/// Gives `work` the bytes of `data` in steps, each copied with the GIL held, so that no more than
/// a step is ever there twice.
pub fn in_steps(
    data: &Bound<'_, PyAny>,
    step: usize,
    mut work: impl FnMut(&[u8]) -> PyResult<()>,
) -> PyResult<()> {
    let buffer = contiguous(data)?;
    let mut place = Vec::with_capacity(step.min(buffer.len_bytes()));
    let mut start = 0;
    while start < buffer.len_bytes() {
        let end = start.saturating_add(step).min(buffer.len_bytes());
        place.clear();
        place.extend_from_slice(lent(&buffer).get(start..end).unwrap_or_default());
        work(&place)?;
        start = end;
    }
    Ok(())
}

/// How many bytes a buffer that is not lent as it is has; None for one that is.
pub fn copied_bytes(data: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if of_bytes(data) {
        return Ok(None);
    }
    Ok(Some(contiguous(data)?.len_bytes()))
}

/// Whether nobody can ever change the bytes: they are those of a `bytes` object.
fn of_bytes(data: &Bound<'_, PyAny>) -> bool {
    if data.is_exact_instance_of::<PyBytes>() {
        return true;
    }
    let Ok(view) = data.cast::<PyMemoryView>() else {
        return false;
    };
    let exporter = view.getattr("obj");
    exporter.is_ok_and(|object| object.is_exact_instance_of::<PyBytes>())
}

/// The buffer of what may be read for as long as it is held: a `memoryview` of `bytes`, or a map
/// of a file that cannot be written through it; None of all else, which may change.
pub fn kept(data: &Bound<'_, PyAny>) -> PyResult<Option<PyUntypedBuffer>> {
    if !of_bytes(data) && !of_map(data)? {
        return Ok(None);
    }
    let buffer = contiguous(data)?;
    Ok(buffer.readonly().then_some(buffer))
}

fn of_map(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let map = data.py().import("mmap")?.getattr("mmap")?;
    if data.get_type().is(&map) {
        return Ok(true);
    }
    let Ok(view) = data.cast::<PyMemoryView>() else {
        return Ok(false);
    };
    Ok(view.getattr("obj")?.get_type().is(&map))
}

/// Copies from `bytes` into the start of a writable buffer, and says how many fitted.
pub fn fill(py: Python<'_>, target: &PyUntypedBuffer, bytes: &[u8]) -> usize {
    let size = bytes.len().min(target.len_bytes());
    copy(py, bytes.as_ptr(), target, size);
    size
}

#[allow(
    unsafe_code,
    reason = "the bytes of a Python buffer lie behind a pointer"
)]
fn copy(_py: Python<'_>, from: *const u8, target: &PyUntypedBuffer, size: usize) {
    if size > 0 {
        // SAFETY: `writable` checked that the buffer is contiguous and may be written to, its
        // exporter keeps it in place while it is held, and `fill` gives a size that both have.
        // The GIL is held, so that no other thread looks meanwhile; `ptr::copy` allows overlap.
        unsafe { std::ptr::copy(from, target.buf_ptr().cast::<u8>(), size) };
    }
}

/// The buffer of an object that may be written to.
pub fn writable(object: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    let buffer = contiguous(object)?;
    if buffer.readonly() {
        return Err(PyValueError::new_err("the buffer cannot be written to"));
    }
    Ok(buffer)
}

/// New `bytes` with these in it; a `MemoryError` where there is no room for many of them.
pub fn copied<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    if bytes.len() < ZEROED_BYTES {
        return Ok(PyBytes::new(py, bytes)); // panics without room, which so few always have
    }
    filled(py, bytes.len(), |place| {
        place.copy_from_slice(bytes);
        Ok(())
    })
}

/// New zeroed `bytes` that `work` may fill before anyone else sees them.
pub fn filled(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce(&mut [u8]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyBytes>> {
    if size < ZEROED_BYTES {
        return PyBytes::new_with(py, size, work);
    }
    // `bytes(n)` asks for zeroed memory, which large pieces of are zeroed when touched; anything
    // else would write every byte twice.
    let bytes = py.get_type::<PyBytes>().call1((size,))?;
    let bytes = bytes.cast_into::<PyBytes>()?;
    let place = unseen(&bytes);
    if size >= HUGE_BYTES {
        in_huge_pages(place);
    }
    work(place)?;
    Ok(bytes)
}

/// Asks for huge pages where the memory was not touched yet. Where there are none, all stays as it is.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the system call takes a pointer")]
fn in_huge_pages(place: &mut [u8]) {
    const PAGE: usize = 4096;
    let first = place.as_ptr().align_offset(PAGE);
    let whole = place.len().saturating_sub(first) / PAGE * PAGE;
    let Some(pages) = place
        .get_mut(first..)
        .and_then(|pages| pages.get_mut(..whole))
    else {
        return;
    };
    // SAFETY: the pages lie within memory that is borrowed here; the advice changes how they are backed, and
    // none of their bytes. Where pages are larger, or the kernel has no huge ones, it refuses.
    let told = unsafe {
        use rustix::mm::{madvise, Advice};
        madvise(
            pages.as_mut_ptr().cast(),
            pages.len(),
            Advice::LinuxHugepage,
        )
    };
    let _ = told; // slower without
}

#[cfg(not(target_os = "linux"))]
fn in_huge_pages(_place: &mut [u8]) {}

#[allow(
    unsafe_code,
    clippy::mut_from_ref,
    reason = "the bytes of a new object lie behind a pointer"
)]
fn unseen<'a>(bytes: &'a Bound<'_, PyBytes>) -> &'a mut [u8] {
    let size = bytes.as_bytes().len();
    // SAFETY: `bytes(n)` made the object just now, with `n` initialised bytes, and nobody but
    // `filled` has it: it is not empty, so it is no shared one, and its hash was never asked for.
    unsafe {
        let place = pyo3::ffi::PyBytes_AsString(bytes.as_ptr());
        std::slice::from_raw_parts_mut(place.cast::<u8>(), size)
    }
}

/// The buffer of an object, whose bytes lie in one piece and are no pointers.
pub fn contiguous(data: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    let buffer = PyUntypedBuffer::get(data).map_err(|error| worded(data, error))?;
    if !buffer.is_c_contiguous() && !buffer.is_fortran_contiguous() {
        let text =
            "the buffer is not contiguous: copy it first, as with bytes() or ascontiguousarray";
        return Err(PyBufferError::new_err(text));
    }
    // `T{O:name:i:other:}`: what stands between colons is a field's name.
    let letters = buffer.format().to_bytes().split(|&byte| byte == b':');
    if letters.step_by(2).any(|items| items.contains(&b'O')) {
        let text = "the buffer holds pointers to objects, not their bytes: pickle them, say";
        return Err(PyTypeError::new_err(text));
    }
    Ok(buffer)
}

/// The error of an array whose items no buffer has a letter for, with what to call.
fn worded(data: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = data.py();
    let text = error.value(py).to_string();
    if !error.is_instance_of::<PyValueError>(py) || !text.contains("dtype") {
        return error;
    }
    let text = format!("{text}: give its bytes, as with array.view('i8') or array.view('u1')");
    PyBufferError::new_err(text)
}

/// The bytes of a contiguous buffer, whatever its items are, for as long as it is held.
#[allow(
    unsafe_code,
    reason = "the bytes of a Python buffer lie behind a pointer"
)]
pub fn lent(buffer: &PyUntypedBuffer) -> &[u8] {
    if buffer.len_bytes() == 0 {
        return &[];
    }
    // SAFETY: the caller checked that the buffer is contiguous, its exporter says that it is
    // `len_bytes` long and keeps it alive and in place until it is released, which the borrow
    // does not outlive. Nobody writes meanwhile: what is not of a `bytes` object, which never
    // changes, is copied while the GIL is held, before anything else is done with it.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes()) }
}
