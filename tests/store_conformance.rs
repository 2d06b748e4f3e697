//! The kit that every driver passes, run over those that need no server.

use tare::store::drivers::memory;
use tare::testing::driver_conformance;

#[test]
fn memory_conforms() -> tare::Result<()> {
    driver_conformance(&|| Ok(Box::new(memory::open("conformance"))))
}
