//! Collection of what nothing names, and of what dead writers left.

use super::connections::Connections;
use crate::store::{GcOptions, GcReport};
use crate::Result;

pub(super) fn gc(_connections: &Connections, _options: &GcOptions) -> Result<GcReport> {
    Ok(GcReport::default())
}
pub(super) fn sweep(_connections: &Connections) -> Result<u64> {
    Ok(0)
}
pub(super) fn recover(_connections: &Connections) -> Result<()> {
    Ok(())
}
