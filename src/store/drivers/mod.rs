//! The drivers, one a file.

#[cfg(unix)]
pub mod folder;
pub mod memory;
#[cfg(feature = "store-object")]
pub mod object_store;
#[cfg(feature = "store-postgres")]
pub mod postgres;
pub mod records;
#[cfg(feature = "store-redis")]
pub mod redis;
#[cfg(any(
    feature = "store-object",
    feature = "store-postgres",
    feature = "store-redis"
))]
mod remote;
pub mod storr;
pub mod storr_dbi;
