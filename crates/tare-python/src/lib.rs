//! The compiled module `tare._tare`: types across, the GIL released, errors mapped.

#![allow(
    missing_docs,
    reason = "the public face is _tare.pyi, where the docstrings are"
)]

mod avro;
mod blit;
mod buffers;
mod compress;
mod delimited;
mod error;
mod facts;
mod lan;
mod message;
mod ndjson;
mod options;
mod reader;
mod relay;
mod robject;
mod row_text;
mod shared;
mod signals;
mod store;
mod stored;
mod writer;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _tare {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::avro::read_avro_blocks;
    #[pymodule_export]
    use super::compress::{choose, compress, compressors, decompress, effort, parse, sniff};
    #[pymodule_export]
    use super::delimited::{lines_of_rows, look_at_fields, read_columns, row_end, whole_rows};
    #[pymodule_export]
    use super::lan::PacketRelay;
    #[pymodule_export]
    use super::ndjson::{
        json_elements, JsonArrayLines, JsonStructure, NdjsonFinder, NdjsonReader, NdjsonRows,
    };
    #[pymodule_export]
    use super::reader::{survey, Reader, SeekableReader};
    #[pymodule_export]
    use super::relay::Relay;
    #[pymodule_export]
    use super::row_text::{RowText, TextBytes};
    #[pymodule_export]
    use super::stored::StoredFile;
    #[pymodule_export]
    use super::writer::Writer;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__commit__", env!("TARE_COMMIT"))?;
        module.add("__debug_build__", cfg!(debug_assertions))?;
        let features: Vec<&str> = tare::compress::Kind::ALL
            .iter()
            .map(|kind| kind.name())
            .filter(|&name| name != "none")
            .collect();
        module.add("__features__", features)?;
        super::blit::add(module)?;
        super::robject::add(module)?;
        super::store::add(module)?;
        super::message::add(module)
    }
}
