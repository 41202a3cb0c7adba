//! The layout of the tables: creates them, and migrates tables of an earlier layout.
//!
//! The table `layout` has the number of the layout. To change the layout, change `schema.sql` and append a file to
//! [`MIGRATIONS`] that turns the previous layout into the new one. If several nodes open the frontier at the same time,
//! a lock ensures that a migration is applied once.

use super::connection::Connection;
use super::link_runs::MIGRATION;
use crate::store_error::StoreError;

/// Statements that change the tables from one layout to the next, beginning with layout 1.
const MIGRATIONS: &[&str] = &[];
/// The layout that this program writes.
const LAYOUT: i64 = 1 + MIGRATIONS.len() as i64;

const SCHEMA: &str = include_str!("schema.sql");

/// Create the tables, or migrate them to [`LAYOUT`], in one transaction.
pub(super) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    if layout(connection)? == Some(LAYOUT) {
        return Ok(());
    }
    connection.batch("BEGIN")?;
    let result = migrate_locked(connection).and_then(|()| connection.batch("COMMIT"));
    if result.is_err() {
        // The first error is the one to report.
        let _ = connection.batch("ROLLBACK");
    }
    result
}

fn migrate_locked(connection: &Connection) -> Result<(), StoreError> {
    let schema = connection.schema().to_owned();
    let sql = "SELECT pg_advisory_xact_lock(hashtext($1), $2)";
    connection.query(sql, &[&schema, &MIGRATION])?;
    match layout(connection)? {
        // A role that may not create schemas can still use one that an administrator has created for it.
        None => {
            let sql = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
            if connection.first(sql, &[&schema])?.is_none() {
                connection.batch(&format!("CREATE SCHEMA \"{schema}\""))?;
            }
            connection.batch(SCHEMA)?;
            connection.batch(
                "CREATE TABLE layout (version int8 NOT NULL); INSERT INTO layout VALUES (0)",
            )?;
        }
        Some(LAYOUT) => return Ok(()),
        Some(found) => {
            let missing = usize::try_from(found - 1).ok();
            let missing = missing.and_then(|applied| MIGRATIONS.get(applied..));
            let missing = missing.ok_or(StoreError::Newer {
                found,
                known: LAYOUT,
            })?;
            for migration in missing {
                connection.batch(migration)?;
            }
            tracing::info!(from = found, to = LAYOUT, "frontier migrated");
        }
    }
    connection.run("UPDATE layout SET version = $1", &[&LAYOUT])?;
    Ok(())
}

/// Fail if the tables have a newer layout than this program knows.
pub(super) fn check(found: i64) -> Result<(), StoreError> {
    if found == LAYOUT {
        return Ok(());
    }
    Err(StoreError::Newer {
        found,
        known: LAYOUT,
    })
}

/// Fail unless the tables have a layout that can be read without a migration, because a reader cannot migrate them.
pub(super) fn require_current(connection: &Connection) -> Result<(), StoreError> {
    match layout(connection)? {
        Some(LAYOUT) => Ok(()),
        None => Err(StoreError::Empty),
        Some(found) if found < LAYOUT => Err(StoreError::Older {
            found,
            needed: LAYOUT,
        }),
        Some(found) => Err(StoreError::Newer {
            found,
            known: LAYOUT,
        }),
    }
}

/// Number of the layout; `None` if there are no tables.
fn layout(connection: &Connection) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'layout'";
    if connection.first(sql, &[&connection.schema()])?.is_none() {
        return Ok(None);
    }
    let row = connection.first("SELECT version FROM layout", &[])?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
