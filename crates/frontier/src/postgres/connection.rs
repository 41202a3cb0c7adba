//! The connection to the database, used from one thread at a time. A call blocks until the database has answered.
//!
//! Statements are prepared once per connection. A connection that is lost is opened again by the next transaction
//! (`transaction.rs`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::Path;

use tokio::runtime::Runtime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::address::{
    ANSWER_TIMEOUT, Address, CONNECT_TIMEOUT, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_TESTS,
};
use super::tls::Tls;
use crate::store_error::StoreError;

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The statements that begin a session. They replace defaults of the role and of the server.
fn session_settings(schema: &str) -> String {
    let milliseconds = ANSWER_TIMEOUT.as_millis();
    let (idle, interval) = (KEEPALIVE_IDLE.as_secs(), KEEPALIVE_INTERVAL.as_secs());
    // Statistics of growing tables mislead the planner. So it must not scan a table that has an index, and must plan
    // each statement only once.
    //
    // A node that is stopped or unreachable during a transaction must not keep its locks, because others would wait for
    // them.
    //
    // A statement that waits for a lock must not fail, so the time limits are turned off. Not every version of
    // PostgreSQL has all of these limits.
    format!(
        "SET search_path = \"{schema}\"; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
         SET plan_cache_mode = force_generic_plan; SET jit = off; SET client_min_messages = warning; \
         SET default_transaction_isolation = 'read committed'; \
         SET idle_in_transaction_session_timeout = {milliseconds}; SET tcp_user_timeout = {milliseconds}; \
         SET tcp_keepalives_idle = {idle}; SET tcp_keepalives_interval = {interval}; \
         SET tcp_keepalives_count = {KEEPALIVE_TESTS}; \
         SELECT set_config(name, '0', false) FROM pg_settings \
         WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_session_timeout', 'transaction_timeout'); \
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
}

/// A connection, with the runtime that drives it.
pub(super) struct Connection {
    /// `None` only while this value is being dropped.
    runtime: Option<Runtime>,
    address: Address,
    client: RefCell<Option<Client>>,
    statements: RefCell<HashMap<String, Statement>>,
    /// Number of statements that were sent. Tests bound it.
    pub(super) sent: Cell<u64>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Connection")
            .field(&self.address.place)
            .finish()
    }
}

impl Drop for Connection {
    /// tokio forbids to drop a runtime inside another one, except without waiting for its tasks.
    fn drop(&mut self) {
        *self.client.borrow_mut() = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Connection {
    /// A connection that is not open yet.
    pub(super) fn new(address: Address) -> Result<Connection, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StoreError::at_file(Path::new("runtime")))?;
        Ok(Connection {
            runtime: Some(runtime),
            address,
            client: RefCell::new(None),
            statements: RefCell::default(),
            sent: Cell::new(0),
        })
    }

    pub(super) fn schema(&self) -> &str {
        &self.address.schema
    }

    /// Wait for a future. Within another runtime, tokio is told that this thread blocks.
    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = self.runtime.as_ref().expect("it is taken only by drop");
        if tokio::runtime::Handle::try_current().is_ok() {
            tokio::task::block_in_place(|| runtime.block_on(work))
        } else {
            runtime.block_on(work)
        }
    }

    pub(super) fn is_open(&self) -> bool {
        let client = self.client.borrow();
        client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Open the connection, unless it is open.
    pub(super) fn open(&self) -> Result<(), StoreError> {
        if self.is_open() {
            return Ok(());
        }
        self.statements.borrow_mut().clear();
        let config = &self.address.config;
        let connect = async {
            if config.get_ssl_mode() == SslMode::Disable {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::spawn(connection);
                return Ok::<_, StoreError>(client);
            }
            let (client, connection) = config.connect(Tls::new()?).await?;
            tokio::spawn(connection);
            Ok(client)
        };
        // The driver's own time-out covers only the TCP handshake, not the answer of the server.
        let connect = async { tokio::time::timeout(CONNECT_TIMEOUT, connect).await };
        let client = self.wait(connect).map_err(|_| StoreError::NotConnected)??;
        *self.client.borrow_mut() = Some(client);
        let settings = session_settings(&self.address.schema);
        // A connection without these settings must not be used.
        self.batch(&settings).inspect_err(|_| self.close())
    }

    /// Close the connection, so that the next use opens a new one.
    pub(super) fn close(&self) {
        *self.client.borrow_mut() = None;
        self.statements.borrow_mut().clear();
    }

    /// Run statements without parameters.
    pub(super) fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.sent.set(self.sent.get() + 1);
        let client = self.client.borrow();
        let client = client.as_ref().ok_or(StoreError::NotConnected)?;
        Ok(self.wait(client.batch_execute(sql))?)
    }

    fn statement(&self, client: &Client, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(client.prepare(sql))?;
        let mut statements = self.statements.borrow_mut();
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Run a query. Returns all its rows.
    pub(super) fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.sent.set(self.sent.get() + 1);
        let client = self.client.borrow();
        let client = client.as_ref().ok_or(StoreError::NotConnected)?;
        let statement = self.statement(client, sql)?;
        Ok(self.wait(client.query(&statement, params))?)
    }

    /// Run a query. Returns its first row, if there is one.
    pub(super) fn first(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    /// Run a statement. Returns the number of changed rows.
    pub(super) fn run(&self, sql: &str, params: Params<'_>) -> Result<u64, StoreError> {
        self.sent.set(self.sent.get() + 1);
        let client = self.client.borrow();
        let client = client.as_ref().ok_or(StoreError::NotConnected)?;
        let statement = self.statement(client, sql)?;
        Ok(self.wait(client.execute(&statement, params))?)
    }

    /// Append rows to a table with `COPY`. Returns their number.
    pub(super) fn copy<'a, const N: usize>(
        &self,
        table: &str,
        types: &[Type; N],
        rows: impl Iterator<Item = [&'a (dyn ToSql + Sync); N]>,
    ) -> Result<u64, StoreError> {
        self.sent.set(self.sent.get() + 1);
        let client = self.client.borrow();
        let client = client.as_ref().ok_or(StoreError::NotConnected)?;
        let sql = format!("COPY {table} FROM STDIN (FORMAT binary)");
        Ok(self.wait(async {
            let sink = client.copy_in(&sql).await?;
            let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, types));
            for row in rows {
                writer.as_mut().write(&row).await?;
            }
            writer.finish().await
        })?)
    }

    /// Append rows of a link run to its table.
    pub(super) fn copy_blocks(&self, slot: i32, blocks: &[LinkBlockRow]) -> Result<(), StoreError> {
        let table = format!("run_{slot} (first, part, links)");
        let types = [Type::INT8, Type::INT8, Type::BYTEA];
        let rows = blocks.iter().map(|(first, part, links)| {
            let row: [&(dyn ToSql + Sync); 3] = [first, part, links];
            row
        });
        self.copy(&table, &types, rows).map(drop)
    }
}

/// A block of a link run: its first site, its number, and the sealed links.
pub(super) type LinkBlockRow = (i64, i64, Vec<u8>);
