//! The kit that every driver passes, run over those that need no server.

use crate::common;

use tare::store::drivers::memory;
use tare::store::drivers::storr::{self, StorrOptions};
use tare::store::Algorithm;
use tare::testing::driver_conformance;

use common::folder::Folder;

#[test]
fn memory_conforms() -> tare::Result<()> {
    driver_conformance(&|| Ok(Box::new(memory::open("conformance"))))
}

#[cfg(unix)]
#[test]
fn folder_conforms() -> tare::Result<()> {
    use tare::store::drivers::folder::{open, FolderOptions};
    let folder = Folder::new();
    let options = FolderOptions::default();
    driver_conformance(&|| Ok(Box::new(open(folder.join("store"), &options)?)))
}

fn storr_conforms(options: &StorrOptions) -> tare::Result<()> {
    let folder = Folder::new();
    driver_conformance(&|| Ok(Box::new(storr::open(folder.join("storr"), options)?)))
}

#[test]
fn storr_conforms_by_default() -> tare::Result<()> {
    storr_conforms(&StorrOptions::default())
}

#[test]
fn storr_conforms_with_mangled_keys_and_without_compression() -> tare::Result<()> {
    storr_conforms(&StorrOptions {
        compress: Some(false),
        mangle_key: Some(true),
        hash_algorithm: Some(Algorithm::Sha512),
        ..StorrOptions::default()
    })
}

#[test]
fn storr_conforms_with_a_hash_of_32_bits() -> tare::Result<()> {
    storr_conforms(&StorrOptions {
        mangle_key: Some(true),
        mangle_key_pad: Some(true),
        hash_algorithm: Some(Algorithm::XxHash32),
        ..StorrOptions::default()
    })
}
