//! `_tare.Relay`: the core's link emulation.

use std::net::SocketAddr;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::to_py;

#[pyclass(frozen)]
pub struct Relay(tare::message::Relay);

#[pymethods]
impl Relay {
    #[new]
    fn new(
        py: Python<'_>,
        target: &str,
        bytes_per_second: f64,
        round_trip_s: f64,
    ) -> PyResult<Self> {
        let target: SocketAddr = target
            .parse()
            .map_err(|_| PyValueError::new_err(format!("{target:?} is not IP:PORT")))?;
        let round_trip = Duration::try_from_secs_f64(round_trip_s)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let link = tare::message::Link {
            bytes_per_second,
            round_trip,
        };
        py.detach(|| tare::message::Relay::start(target, link))
            .map(Relay)
            .map_err(|error| to_py(py, error))
    }

    #[getter]
    fn address(&self) -> String {
        self.0.address().to_string()
    }

    #[getter]
    fn bytes_moved(&self) -> u64 {
        self.0.bytes_moved()
    }
}
