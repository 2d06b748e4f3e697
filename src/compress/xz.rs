//! Stub.

use super::container::StreamEncoder;
use super::plan::{Needs, Request};
use crate::{Error, ErrorKind, Result};
pub(super) fn stream(_request: &Request) -> Result<Box<dyn StreamEncoder>> {
    Err(Error::new(ErrorKind::Internal, "stub"))
}
pub(super) fn needs(_request: &Request) -> Needs {
    Needs { context: 0, bound: 0 }
}
pub(super) use super::none::Walk;
