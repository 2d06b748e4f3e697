//! The tables, made once whoever comes first, and taken away.

use super::{PostgresOptions, Shared, DRIVER};
use crate::store::drivers::remote::{no_store, Marker};
use crate::{ErrorKind, Result};

/// All that a store consists of; its marker comes last, in the same transaction.
const TABLES: &str = r#"
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
CREATE SEQUENCE ids;
CREATE TABLE key (
  ns text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  codec text NOT NULL,
  time bigint NOT NULL,
  PRIMARY KEY (ns, key)
);
CREATE INDEX key_hash ON key (hash);
CREATE TABLE object (
  hash bytea PRIMARY KEY,
  id bigint NOT NULL UNIQUE,
  plain bigint,
  stored bigint NOT NULL,
  compressor text NOT NULL,
  codec text NOT NULL,
  refs bigint NOT NULL,
  born bigint NOT NULL,
  unref bigint
);
CREATE INDEX object_unref ON object (unref) WHERE refs = 0;
CREATE TABLE chunk (
  id bigint NOT NULL,
  n integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (id, n)
);
ALTER TABLE chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE staged (id bigint PRIMARY KEY, touched bigint NOT NULL);
CREATE TABLE quarantine (
  time bigint NOT NULL,
  ns text,
  key text,
  hash bytea,
  id bigint,
  record text NOT NULL
);
"#;

/// The marker, or what else lies in the schema.
enum Found {
    Marker(Marker),
    Nothing,
    Foreign(String),
}

fn look(shared: &Shared) -> Result<Found> {
    let wire = &shared.wire;
    let found = wire.call(|link| {
        let names = link.query(
            "SELECT c.relname::text FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1",
            &[&shared.schema],
        )?;
        let names: Vec<String> = names.iter().map(|row| row.get(0)).collect();
        if names.is_empty() {
            return Ok((names, None));
        }
        if !names.iter().any(|name| name == "meta") {
            return Ok((names, None));
        }
        match link.query("SELECT value FROM meta WHERE name = 'marker'", &[]) {
            Ok(rows) => Ok((names, rows.first().map(|row| row.get::<_, String>(0)))),
            Err(fault) if fault.is_undefined() => Ok((names, None)),
            Err(fault) => Err(fault),
        }
    })?;
    Ok(match found {
        (_, Some(text)) => {
            let place = format!("the schema {:?}", shared.schema);
            Found::Marker(Marker::parse(text.as_bytes(), DRIVER, &place)?)
        }
        (names, None) if names.is_empty() => Found::Nothing,
        (names, None) => Found::Foreign(names.join(", ")),
    })
}

/// The marker of the store, which is made if there is none and one may be made; and facts of the server.
pub(super) fn open(
    shared: &Shared,
    options: &PostgresOptions,
) -> Result<(Marker, Vec<(&'static str, String)>)> {
    let wire = &shared.wire;
    let marker = match look(shared)? {
        Found::Marker(marker) => marker,
        Found::Foreign(names) => {
            let text = format!(
                "the schema {:?} of {} holds other tables ({names}); choose another schema",
                shared.schema, wire.url
            );
            return Err(wire.described(ErrorKind::Usage, text));
        }
        Found::Nothing if options.read_only || !options.create => {
            return Err(no_store(DRIVER, &wire.url))
        }
        Found::Nothing => {
            create(shared)?;
            let gone =
                || wire.described(ErrorKind::Io, "the store vanished as soon as it was made");
            match look(shared)? {
                Found::Marker(marker) => marker,
                _ => return Err(gone()),
            }
        }
    };
    let facts = wire.call(|link| {
        link.simple(
            "SELECT current_setting('server_version'), current_setting('server_encoding'), \
             current_setting('fsync'), current_setting('synchronous_commit')",
        )
    })?;
    let fact = |at: usize| facts.get(at).cloned().unwrap_or_default();
    if fact(1) != "UTF8" {
        let text = format!(
            "the database of {} has the encoding {}: keys need UTF8",
            wire.url,
            fact(1)
        );
        return Err(wire.described(ErrorKind::Unsupported, text));
    }
    let names = ["server", "encoding", "fsync", "synchronous_commit"];
    let mut facts: Vec<(&'static str, String)> = names.into_iter().zip(facts).collect();
    facts.push(("schema", shared.schema.clone()));
    Ok((marker, facts))
}

/// Makes the tables, unless somebody else just did.
fn create(shared: &Shared) -> Result<()> {
    let text = Marker::new(DRIVER)?.text();
    shared.wire.call(|link| {
        link.transaction("BEGIN", |link| {
            // Those who come at the same time wait here for the first.
            link.query(
                "SELECT pg_catalog.pg_advisory_xact_lock(hashtext('tare store ' || $1))",
                &[&shared.schema],
            )?;
            let there = link.query(
                "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'meta'",
                &[&shared.schema],
            )?;
            if !there.is_empty() {
                return Ok(());
            }
            let schema = shared.schema.replace('"', "\"\"");
            let known = link.query(
                "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1",
                &[&shared.schema],
            )?;
            if known.is_empty() {
                link.simple(&format!("CREATE SCHEMA \"{schema}\""))?;
            }
            link.simple(TABLES)?;
            link.query("INSERT INTO meta VALUES ('marker', $1)", &[&text])?;
            Ok(())
        })
    })
}

/// Takes the tables away, and the schema if nothing else is in it.
pub(super) fn destroy(shared: &Shared) -> Result<()> {
    let schema = shared.schema.replace('"', "\"\"");
    shared.wire.call(|link| {
        link.transaction("BEGIN", |link| {
            link.simple(
                "DROP TABLE meta, key, object, chunk, staged, quarantine; DROP SEQUENCE ids",
            )?;
            Ok(())
        })
    })?;
    // Others may have put their tables there, or may own the schema.
    let _ = shared
        .wire
        .call(|link| link.simple(&format!("DROP SCHEMA \"{schema}\" RESTRICT")));
    Ok(())
}
