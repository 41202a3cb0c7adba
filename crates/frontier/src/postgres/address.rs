//! The address of the database. Parts that it leaves out are taken from the same places as in libpq: role, host and
//! database from the environment or a service file, the password from `PGPASSWORD` or a password file.
//!
//! A value in the address has priority. `PGSERVICE` (or the parameter `service`) names a section of the service file.
//! `PGSERVICEFILE` is the path of that file (default: `~/.pg_service.conf`), and `PGPASSFILE` is the path of the
//! password file (default: `~/.pgpass`). As in libpq, a password file that other users can read is ignored.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::FrontierError;
use crate::frontier_url::without_password;

/// Time after which a connection attempt has failed.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The connection counts as lost if the server does not acknowledge sent data within this time.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection without traffic for `KEEPALIVE_IDLE` is tested `KEEPALIVE_TESTS` times, at `KEEPALIVE_INTERVAL`.
pub(super) const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub(super) const KEEPALIVE_TESTS: u32 = 4;
/// Schema of the tables if the address names none.
const DEFAULT_SCHEMA: &str = "aranha";
/// Folder of the server's socket if nothing names a host.
const SOCKET_FOLDER: &str = "/var/run/postgresql";
const DEFAULT_PORT: u16 = 5432;

/// The address of a frontier: `postgres://USER@HOST/DATABASE?schema=NAME`.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) schema: String,
    /// The address without the password, for messages.
    pub(super) place: PathBuf,
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Address, FrontierError> {
        Address::parse_with(text, &|name| std::env::var(name).ok())
    }

    /// `variable` returns the value of an environment variable.
    fn parse_with(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Address, FrontierError> {
        let parts = split(text);
        let place = PathBuf::from(without_password(text));
        let invalid = |problem: String| FrontierError::Database {
            place: place.clone(),
            source: problem.into(),
        };
        let mut config = Config::from_str(&parts.address).map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            invalid(format!(
                "invalid address: {}",
                cause.unwrap_or_else(|| error.to_string())
            ))
        })?;
        if !is_schema(&parts.schema) {
            let problem = "the name of a schema has lower-case letters, digits and underscores";
            return Err(invalid(problem.to_owned()));
        }
        // TLS is off unless it is asked for, because a self-signed certificate could not be checked.
        if !parts.address.contains("sslmode=") {
            config.ssl_mode(SslMode::Disable);
        }
        let service = parts.service.or_else(|| variable("PGSERVICE"));
        if let Some(service) = service.filter(|name| !name.is_empty()) {
            let settings = read_service(&service, variable).map_err(invalid)?;
            complete(&mut config, &|key| {
                let mut found = settings.iter().filter(|(name, _)| name == key);
                found.next().map(|(_, value)| value.clone())
            });
        }
        complete(&mut config, &|key| {
            let name = match key {
                "host" => "PGHOST",
                "port" => "PGPORT",
                "user" => "PGUSER",
                "dbname" => "PGDATABASE",
                "password" => "PGPASSWORD",
                _ => "PGSSLMODE",
            };
            variable(name).filter(|value| !value.is_empty())
        });
        if config.get_hosts().is_empty() {
            config.host_path(SOCKET_FOLDER);
        }
        if config.get_password().is_none()
            && let Some(password) = password_of(&config, variable)
        {
            config.password(password);
        }
        config
            .application_name("aranha")
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(ANSWER_TIMEOUT)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_TESTS);
        Ok(Address {
            config,
            schema: parts.schema,
            place,
        })
    }
}

fn is_schema(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.len() < 64
}

/// An address without the parameters that the driver does not know.
struct Parts {
    address: String,
    schema: String,
    service: Option<String>,
}

fn split(text: &str) -> Parts {
    let mut parts = Parts {
        address: text.to_owned(),
        schema: DEFAULT_SCHEMA.to_owned(),
        service: None,
    };
    let Some((base, query)) = text.split_once('?') else {
        return parts;
    };
    let mut rest = Vec::new();
    for parameter in query.split('&') {
        if let Some(name) = parameter.strip_prefix("schema=") {
            name.clone_into(&mut parts.schema);
        } else if let Some(name) = parameter.strip_prefix("service=") {
            parts.service = Some(name.to_owned());
        } else {
            rest.push(parameter);
        }
    }
    parts.address = if rest.is_empty() {
        base.to_owned()
    } else {
        format!("{base}?{}", rest.join("&"))
    };
    parts
}

/// Sets the parameters that the address leaves out. `value` returns the value of a keyword of libpq.
fn complete(config: &mut Config, value: &dyn Fn(&str) -> Option<String>) {
    if config.get_hosts().is_empty()
        && let Some(host) = value("host")
    {
        config.host(&host);
    }
    if config.get_ports().is_empty()
        && let Some(port) = value("port").and_then(|port| port.parse().ok())
    {
        config.port(port);
    }
    if config.get_user().is_none()
        && let Some(user) = value("user")
    {
        config.user(&user);
    }
    if config.get_dbname().is_none()
        && let Some(name) = value("dbname")
    {
        config.dbname(&name);
    }
    if config.get_password().is_none()
        && let Some(password) = value("password")
    {
        config.password(password);
    }
    if config.get_ssl_mode() == SslMode::Disable
        && value("sslmode")
            .is_some_and(|mode| ["require", "verify-ca", "verify-full"].contains(&mode.as_str()))
    {
        config.ssl_mode(SslMode::Require);
    }
}

/// The path in an environment variable; by default, a file in the home folder.
fn file_of(
    name: &str,
    in_home: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<PathBuf> {
    match variable(name).filter(|path| !path.is_empty()) {
        Some(path) => Some(path.into()),
        None => Some(Path::new(&variable("HOME")?).join(in_home)),
    }
}

/// The settings of a section of the service file.
fn read_service(
    service: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let missing = || format!("there is no service `{service}` in the service file");
    let path = file_of("PGSERVICEFILE", ".pg_service.conf", variable).ok_or_else(missing)?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let header = format!("[{service}]");
    let mut lines = text.lines().map(str::trim);
    if !lines.any(|line| line == header) {
        return Err(missing());
    }
    let settings = lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='));
    Ok(settings
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect())
}

/// The password in the password file.
fn password_of(config: &Config, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let path = file_of("PGPASSFILE", ".pgpass", variable)?;
    let mode = std::fs::metadata(&path).ok()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(
            "{} is ignored, because others may read it; its mode must be 0600",
            path.display()
        );
        return None;
    }
    let host = match config.get_hosts().first()? {
        Host::Tcp(host) => host.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(DEFAULT_PORT);
    let user = config.get_user().unwrap_or_default();
    // If no database is named, libpq uses the one that has the name of the role.
    let database = config.get_dbname().unwrap_or(user);
    let wanted = [host.as_str(), &port.to_string(), database, user];
    let text = std::fs::read_to_string(&path).ok()?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.find_map(|line| {
        let fields = fields_of(line);
        let (password, fields) = fields.split_last()?;
        let fits = fields.len() == wanted.len()
            && fields
                .iter()
                .zip(wanted)
                .all(|(field, wanted)| field == "*" || field == wanted);
        fits.then(|| password.clone())
    })
}

/// The fields of a line of the password file. A backslash escapes the next character.
fn fields_of(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let field = fields.last_mut().expect("there is always a field");
        match letter {
            '\\' => field.extend(letters.next()),
            ':' => fields.push(String::new()),
            other => field.push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, variables: &[(&str, &str)]) -> Address {
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Address::parse_with(text, &variable).expect("valid")
    }

    #[test]
    fn an_address_names_a_schema_and_shows_no_password() {
        let address =
            Address::parse("postgres://crawl:secret@db:5433/national?schema=third&sslmode=disable");
        let address = address.expect("valid");
        assert_eq!(address.schema, "third");
        assert_eq!(
            address.place,
            Path::new("postgres://crawl@db:5433/national?schema=third&sslmode=disable")
        );
        assert_eq!(address.config.get_ports(), [5433]);
        let address = Address::parse("postgres://db/national").expect("valid");
        assert_eq!(address.schema, "aranha");
        for wrong in [
            "postgres://db/n?schema=a;b",
            "postgres://db/n?what=1",
            "postgres://db/n?schema=",
        ] {
            Address::parse(wrong).expect_err("invalid");
        }
    }

    #[test]
    fn the_environment_completes_an_address() {
        let variables = [
            ("PGHOST", "other"),
            ("PGUSER", "anna"),
            ("PGPASSWORD", "s3cret"),
        ];
        let address = parse("postgres://crawl@db/n", &variables);
        assert_eq!(address.config.get_user(), Some("crawl"));
        assert_eq!(address.config.get_hosts(), [Host::Tcp("db".to_owned())]);
        assert_eq!(address.config.get_password(), Some(b"s3cret".as_slice()));
        let address = parse("postgres:///n", &variables);
        assert_eq!(address.config.get_user(), Some("anna"));
        assert_eq!(address.config.get_hosts(), [Host::Tcp("other".to_owned())]);
        let address = parse("postgres://crawl:own@db/n", &variables);
        assert_eq!(address.config.get_password(), Some(b"own".as_slice()));
        let address = parse("postgres:///n", &[]);
        assert_eq!(
            address.config.get_hosts(),
            [Host::Unix(SOCKET_FOLDER.into())]
        );
    }

    #[test]
    fn passwords_come_from_the_password_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pgpass");
        let lines = "# note\nother:*:*:*:wrong\ndb:5433:n:crawl:a\\:b\\\\c\n*:*:*:anna:hers\n";
        std::fs::write(&path, lines).expect("writes");
        let set_mode = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("sets the mode");
        };
        let variables = [("PGPASSFILE", path.to_str().expect("UTF-8"))];
        let password = |text| {
            let address = parse(text, &variables);
            let password = address.config.get_password();
            password.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        set_mode(0o600);
        assert_eq!(
            password("postgres://crawl@db:5433/n").as_deref(),
            Some("a:b\\c")
        );
        assert_eq!(password("postgres://crawl@db:5432/n"), None);
        assert_eq!(password("postgres://anna@db/m").as_deref(), Some("hers"));
        set_mode(0o644);
        assert_eq!(
            password("postgres://anna@db/m"),
            None,
            "others may read the file"
        );
    }

    #[test]
    fn a_service_names_host_and_role() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("services");
        let text = "[first]\nhost=wrong\n[national]\n# note\nhost = db9\nuser=crawl\npassword=pw\nport=6000\n[last]\nuser=x\n";
        std::fs::write(&path, text).expect("writes");
        let variables = [("PGSERVICEFILE", path.to_str().expect("UTF-8"))];
        let address = parse("postgres:///n?service=national&schema=s", &variables);
        assert_eq!(address.config.get_hosts(), [Host::Tcp("db9".to_owned())]);
        assert_eq!(address.config.get_ports(), [6000]);
        assert_eq!(address.config.get_user(), Some("crawl"));
        assert_eq!(address.config.get_password(), Some(b"pw".as_slice()));
        assert_eq!(address.schema, "s");
        let variable = |_: &str| Some(path.to_str().expect("UTF-8").to_owned());
        let error = Address::parse_with("postgres:///n?service=none", &variable);
        let error = error.expect_err("no such service").to_string();
        assert!(error.contains("no service `none`"), "{error}");
    }
}
