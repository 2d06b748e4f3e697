//! The marker that tells a store from other data: one JSON object, made once.

use serde_json::{json, Value};

use crate::store::Algorithm;
use crate::{Error, ErrorKind, Result};

/// The version that is written, and the highest that is read.
const VERSION: u64 = 1;
/// More bytes than any marker has.
const MAX_BYTES: usize = 64 * 1024;

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// The driver that made it.
    pub driver: String,
    /// What its objects are named by.
    pub algorithm: Algorithm,
    /// A name of this one store.
    pub id: String,
    /// When it was made, microseconds since 1970.
    pub created: i64,
    /// Whether its server knows conditions; object stores only.
    pub conditional: Option<bool>,
}

impl Marker {
    /// The marker of a new store.
    pub(crate) fn new(driver: &'static str) -> Result<Self> {
        Ok(Self {
            driver: driver.to_string(),
            algorithm: Algorithm::Blake3,
            id: super::random_name()?,
            created: super::local_micros(),
            conditional: None,
        })
    }

    /// Its JSON, ended by a newline.
    pub(crate) fn text(&self) -> String {
        let mut text = json!({
            "tare_store": VERSION,
            "driver": self.driver,
            "hash": self.algorithm.name(),
            "id": self.id,
            "created": self.created,
            "features": [],
        });
        if let (Some(conditional), Some(fields)) = (self.conditional, text.as_object_mut()) {
            fields.insert("conditional".to_string(), Value::Bool(conditional));
        }
        format!("{text}\n")
    }

    /// Reads it.
    ///
    /// # Errors
    /// `StoreVersion` for a newer one, `Usage` for what is no marker of this driver.
    pub(crate) fn parse(bytes: &[u8], driver: &'static str, place: &str) -> Result<Self> {
        let foreign = |what: &str| {
            let text = format!("{place} is no marker of a store: {what}; choose another place");
            Error::new(ErrorKind::Usage, text)
                .with_format(driver)
                .with_detail("place", place)
        };
        if bytes.len() > MAX_BYTES {
            return Err(foreign("it is too long"));
        }
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| foreign(&error.to_string()))?;
        let version = value.get("tare_store").and_then(Value::as_u64);
        let newer = |what: String| {
            let text = format!("the store of {place} {what}: a newer Tare reads it");
            Error::new(ErrorKind::StoreVersion, text)
                .with_format(driver)
                .with_detail("place", place)
        };
        match version {
            None | Some(0) => return Err(foreign("it names no version")),
            Some(VERSION) => {}
            Some(other) => return Err(newer(format!("has version {other}, known is {VERSION}"))),
        }
        let features = value.get("features").and_then(Value::as_array);
        if let Some(feature) = features.and_then(|list| list.first()) {
            return Err(newer(format!("needs the feature {feature}")));
        }
        let text = |name: &str| {
            let found = value.get(name).and_then(Value::as_str);
            found.ok_or_else(|| foreign(&format!("it has no {name:?}")))
        };
        let named = text("driver")?;
        if named != driver {
            return Err(foreign(&format!("it is one of the driver {named:?}")));
        }
        Ok(Self {
            driver: named.to_string(),
            algorithm: Algorithm::by_name(text("hash")?)?,
            id: text("id")?.to_string(),
            created: value.get("created").and_then(Value::as_i64).unwrap_or(0),
            conditional: value.get("conditional").and_then(Value::as_bool),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_reads_back_and_newer_ones_are_refused() {
        let mut marker = Marker::new("redis").unwrap();
        marker.conditional = Some(true);
        let text = marker.text();
        assert_eq!(
            marker,
            Marker::parse(text.as_bytes(), "redis", "p").unwrap()
        );
        let kind = |text: &str| {
            Marker::parse(text.as_bytes(), "redis", "p")
                .unwrap_err()
                .kind()
        };
        let newer = text.replace("\"tare_store\":1", "\"tare_store\":2");
        assert_eq!(ErrorKind::StoreVersion, kind(&newer));
        let feature = text.replace("[]", "[\"packs\"]");
        assert_eq!(ErrorKind::StoreVersion, kind(&feature));
        let hash = text.replace("blake3", "blake4");
        assert_eq!(ErrorKind::Unsupported, kind(&hash));
        for foreign in [
            "",
            "{}",
            "[1]",
            "{\"tare_store\":0}",
            &text.replace("redis", "postgres"),
        ] {
            assert_eq!(ErrorKind::Usage, kind(foreign), "{foreign}");
        }
    }
}
