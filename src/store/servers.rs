//! From a URL to the driver of a server.

#[cfg(feature = "store-object")]
use super::drivers::object_store;
#[cfg(feature = "store-postgres")]
use super::drivers::postgres;
#[cfg(feature = "store-redis")]
use super::drivers::redis;
use super::{Driver, OpenOptions};
use crate::{Error, ErrorKind, Result};

/// What opens a driver.
type Open = fn(&url::Url, &OpenOptions) -> Result<Box<dyn Driver>>;

/// The driver of a URL that begins with this scheme; None if none does.
pub(super) fn driver(
    scheme: &str,
    url: &str,
    options: &OpenOptions,
) -> Option<Result<Box<dyn Driver>>> {
    let (name, open): (_, Open) = match scheme {
        "redis" | "redis+unix" | "rediss" => ("redis", redis_driver),
        "postgres" | "postgresql" => ("postgres", postgres_driver),
        "s3" | "gs" | "az" => ("object_store", object_driver),
        _ => return None,
    };
    if let Some((option, _)) = options.driver.first() {
        let text =
            format!("the driver {name} has no option {option:?}: its options stand in its URL");
        return Some(Err(Error::new(ErrorKind::Usage, text)));
    }
    // What is wrong is said without the URL, which may hold a password.
    let parsed: Result<url::Url> = url.parse().map_err(|error| {
        let text = format!("what begins with {scheme}: is no URL: {error}");
        Error::new(ErrorKind::Usage, text)
    });
    Some(parsed.and_then(|url| open(&url, options)))
}

#[cfg(not(all(
    feature = "store-object",
    feature = "store-postgres",
    feature = "store-redis"
)))]
fn missing(driver: &str) -> Result<Box<dyn Driver>> {
    let text = format!("the driver {driver} is not built into this library");
    Err(Error::new(ErrorKind::Unsupported, text))
}

#[cfg(feature = "store-redis")]
fn redis_driver(url: &url::Url, options: &OpenOptions) -> Result<Box<dyn Driver>> {
    let chosen = redis::RedisOptions {
        read_only: options.read_only,
        create: options.create,
        ..redis::RedisOptions::default()
    };
    Ok(Box::new(redis::open(url, &chosen)?))
}

#[cfg(not(feature = "store-redis"))]
fn redis_driver(_: &url::Url, _: &OpenOptions) -> Result<Box<dyn Driver>> {
    missing("redis")
}

#[cfg(feature = "store-postgres")]
fn postgres_driver(url: &url::Url, options: &OpenOptions) -> Result<Box<dyn Driver>> {
    let chosen = postgres::PostgresOptions {
        read_only: options.read_only,
        create: options.create,
        ..postgres::PostgresOptions::default()
    };
    Ok(Box::new(postgres::open(url, &chosen)?))
}

#[cfg(not(feature = "store-postgres"))]
fn postgres_driver(_: &url::Url, _: &OpenOptions) -> Result<Box<dyn Driver>> {
    missing("postgres")
}

#[cfg(feature = "store-object")]
fn object_driver(url: &url::Url, options: &OpenOptions) -> Result<Box<dyn Driver>> {
    let chosen = object_store::ObjectOptions {
        read_only: options.read_only,
        create: options.create,
        ..object_store::ObjectOptions::default()
    };
    Ok(Box::new(object_store::open(url, &chosen)?))
}

#[cfg(not(feature = "store-object"))]
fn object_driver(_: &url::Url, _: &OpenOptions) -> Result<Box<dyn Driver>> {
    missing("object_store")
}
