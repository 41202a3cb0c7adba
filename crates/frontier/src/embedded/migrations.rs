//! The layout of the database: creates the tables, and migrates a database of an earlier layout.
//!
//! `PRAGMA user_version` holds the number of the layout; 0 is an empty database. Layout 4 is the first released one. To
//! change the layout, change `schema.sql` and append a function to [`MIGRATIONS`] that turns the previous layout into
//! the new one.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::store_error::StoreError;

/// Changes a database from one layout to the next.
type Migration = fn(&Connection) -> Result<(), StoreError>;

const FIRST_RELEASED: i64 = 4;
/// The migrations from layout 4 to 5, from 5 to 6, and so on.
const MIGRATIONS: &[Migration] = &[add_hops, add_problems, add_seed_settings];
/// The oldest layout that this program reads without a migration.
const OLDEST_READABLE: i64 = 4;
/// The layout that this program writes.
pub(super) const LAYOUT: i64 = FIRST_RELEASED + MIGRATIONS.len() as i64;

const SCHEMA: &str = include_str!("schema.sql");

/// Create the tables in an empty database, or migrate them to [`LAYOUT`], in one transaction.
pub(super) fn migrate(db: &Connection) -> Result<(), StoreError> {
    apply(db, MIGRATIONS)
}

/// Layout 5 has the tables of layout 4. Its pages may have hops that count more than one embedded resource in a row
/// ([`Hop::Embed`](crate::Hop::Embed)), which programs for layout 4 cannot read.
#[expect(clippy::unnecessary_wraps, reason = "every migration has this type")]
fn add_hops(_: &Connection) -> Result<(), StoreError> {
    Ok(())
}

/// Layout 6 has the table `problems`.
fn add_problems(db: &Connection) -> Result<(), StoreError> {
    Ok(db.execute_batch(
        "CREATE TABLE problems (site INTEGER PRIMARY KEY, faults INTEGER NOT NULL, time INTEGER NOT NULL, \
         problem TEXT NOT NULL)",
    )?)
}

/// Layout 7 has the table `seed_settings`.
fn add_seed_settings(db: &Connection) -> Result<(), StoreError> {
    Ok(db.execute_batch(
        "CREATE TABLE seed_settings (site INTEGER PRIMARY KEY, depth INTEGER, every INTEGER, max_every INTEGER)",
    )?)
}

fn apply(db: &Connection, migrations: &[Migration]) -> Result<(), StoreError> {
    let newest = FIRST_RELEASED + migrations.len() as i64;
    let found = layout(db)?;
    if found == newest {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    if found == 0 {
        db.execute_batch(SCHEMA)?;
    } else {
        let applied = usize::try_from(found - FIRST_RELEASED).ok();
        let missing = applied.and_then(|applied| migrations.get(applied..));
        for migration in missing.ok_or_else(|| unknown_layout(found, newest))? {
            migration(db)?;
        }
        tracing::info!(from = found, to = newest, "frontier migrated");
    }
    db.pragma_update(None, "user_version", newest)?;
    transaction.commit()?;
    Ok(())
}

/// Fail unless the database has a layout that can be read without a migration, because a reader cannot migrate it.
pub(super) fn require_current(db: &Connection) -> Result<(), StoreError> {
    match layout(db)? {
        OLDEST_READABLE..=LAYOUT => Ok(()),
        0 => Err(StoreError::Empty),
        found => Err(unknown_layout(found, LAYOUT)),
    }
}

/// Number of the layout; 0 for an empty database.
pub(super) fn layout(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn unknown_layout(found: i64, newest: i64) -> StoreError {
    if found > newest {
        StoreError::Newer {
            found,
            known: newest,
        }
    } else {
        StoreError::Damaged(format!(
            "layout {found}, which no released aranha wrote: start a new crawl"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_column(db: &Connection) -> Result<(), StoreError> {
        Ok(db.execute_batch("ALTER TABLE sites ADD COLUMN note TEXT")?)
    }

    #[test]
    fn each_migration_is_applied_once() {
        let db = Connection::open_in_memory().expect("opens");
        apply(&db, &[]).expect("creates");
        assert_eq!(layout(&db).expect("reads"), FIRST_RELEASED);
        for _ in 0..2 {
            apply(&db, &[add_column]).expect("migrates");
            assert_eq!(layout(&db).expect("reads"), FIRST_RELEASED + 1);
        }
        db.execute_batch("SELECT note FROM sites").expect("exists");
    }

    #[test]
    fn a_failed_migration_changes_nothing() {
        let db = Connection::open_in_memory().expect("opens");
        apply(&db, &[]).expect("creates");
        apply(&db, &[add_column, add_column]).expect_err("the column exists");
        assert_eq!(layout(&db).expect("reads"), FIRST_RELEASED);
        assert!(db.execute_batch("SELECT note FROM sites").is_err());
    }

    #[test]
    fn unreleased_and_newer_layouts_are_refused() {
        let db = Connection::open_in_memory().expect("opens");
        for found in [1, 3, 5] {
            db.pragma_update(None, "user_version", found).expect("sets");
            let error = apply(&db, &[]).expect_err("refused");
            assert_eq!(
                matches!(error, StoreError::Newer { found: 5, .. }),
                found == 5,
                "{error:?}"
            );
        }
    }
}
