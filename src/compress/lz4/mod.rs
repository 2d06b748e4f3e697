//! Stub.

mod decode;
pub(super) use decode::{decode, expect};
use super::plan::{Needs, Request, Way};
use crate::{Error, ErrorKind, Result};
pub(super) fn way(_request: &Request) -> Result<Way> {
    Err(Error::new(ErrorKind::Internal, "stub"))
}
pub(super) fn needs(_request: &Request) -> Needs {
    Needs { context: 0, bound: 0 }
}
pub(super) use super::none::Walk;
