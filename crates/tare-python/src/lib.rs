//! The compiled module `tare._tare`: types across, the GIL released, errors mapped.

#![allow(
    missing_docs,
    reason = "the public face is _tare.pyi, where the docstrings are"
)]

mod compress;
mod error;
mod reader;
mod relay;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _tare {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::compress::{compress, decompress};
    #[pymodule_export]
    use super::reader::Reader;
    #[pymodule_export]
    use super::relay::Relay;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__commit__", env!("TARE_COMMIT"))?;
        module.add("__debug_build__", cfg!(debug_assertions))?;
        let features: Vec<&str> = tare::compress::COMPRESSORS
            .iter()
            .map(|compressor| compressor.name)
            .filter(|&name| name != "none")
            .collect();
        module.add("__features__", features)
    }
}
