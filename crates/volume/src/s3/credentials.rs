//! Keys, endpoint and region, found where AWS's own tools look for them: environment variables, then the profile in
//! `~/.aws/credentials` and `~/.aws/config`. None of these values is stored in the collection or printed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusty_s3::Credentials;

/// The values that the environment gives.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// `None` if requests are not signed, as for a public bucket.
    pub(crate) credentials: Option<Credentials>,
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
}

impl Environment {
    /// Reads the variables and the files of this process. Unit tests have keys of their own.
    pub(crate) fn read() -> Self {
        if cfg!(test) {
            return Self {
                credentials: Some(Credentials::new("test", "test")),
                ..Self::default()
            };
        }
        Self::of(
            |name| std::env::var(name).ok(),
            |path| std::fs::read_to_string(path).ok(),
        )
    }

    fn of(
        variable: impl Fn(&str) -> Option<String>,
        file: impl Fn(PathBuf) -> Option<String>,
    ) -> Self {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let path = |name: &str, default: &str| match get(name) {
            Some(path) => Some(PathBuf::from(path)),
            None => Some(PathBuf::from(get("HOME")?).join(".aws").join(default)),
        };
        let profile = get("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let mut values = BTreeMap::new();
        for (variable, name, section) in [
            (
                "AWS_CONFIG_FILE",
                "config",
                match &*profile {
                    "default" => profile.clone(),
                    _ => format!("profile {profile}"),
                },
            ),
            (
                "AWS_SHARED_CREDENTIALS_FILE",
                "credentials",
                profile.clone(),
            ),
        ] {
            if let Some(text) = path(variable, name).and_then(&file) {
                values.extend(section_of(&text, &section));
            }
        }
        let mut of_profile = |name: &str| values.remove(name);
        let keys = |key: Option<String>, secret: Option<String>, token: Option<String>| {
            let (key, secret) = (key?, secret?);
            Some(match token {
                Some(token) => Credentials::new_with_token(key, secret, token),
                None => Credentials::new(key, secret),
            })
        };
        let of_environment = keys(
            get("AWS_ACCESS_KEY_ID"),
            get("AWS_SECRET_ACCESS_KEY"),
            get("AWS_SESSION_TOKEN"),
        );
        let stored = keys(
            of_profile("aws_access_key_id"),
            of_profile("aws_secret_access_key"),
            of_profile("aws_session_token"),
        );
        Self {
            credentials: of_environment.or(stored),
            endpoint: get("AWS_ENDPOINT_URL_S3")
                .or_else(|| get("AWS_ENDPOINT_URL"))
                .or_else(|| of_profile("endpoint_url")),
            region: get("AWS_REGION")
                .or_else(|| get("AWS_DEFAULT_REGION"))
                .or_else(|| of_profile("region")),
        }
    }
}

/// The values of one section of an AWS configuration file. Indented lines are values of a nested table and are ignored.
fn section_of(text: &str, wanted: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut inside = false;
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
        {
            inside = name.split_whitespace().eq(wanted.split_whitespace());
        } else if inside
            && !is_nested
            && let Some((name, value)) = line.split_once('=')
        {
            values.insert(name.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let credentials = "[default]\naws_access_key_id = D\naws_secret_access_key = d\n\n# note\n\
            [lab]\naws_access_key_id=L\naws_secret_access_key=l\naws_session_token=t\n";
        let config = "[default]\nregion = eu-west-1\ns3 =\n  endpoint_url = http://no\n[profile lab]\n\
            endpoint_url = http://lab:9000\n";
        Environment::of(
            |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            |path| match path.to_str()? {
                "/home/x/.aws/credentials" => Some(credentials.to_owned()),
                "/home/x/.aws/config" => Some(config.to_owned()),
                _ => None,
            },
        )
    }

    fn check(variables: &[(&str, &str)], expected: [Option<&str>; 4]) {
        let found = environment(variables);
        let keys = found.credentials.as_ref();
        let values = [
            keys.map(Credentials::key),
            keys.and_then(Credentials::token),
            found.endpoint.as_deref(),
            found.region.as_deref(),
        ];
        assert_eq!(values, expected, "{variables:?}");
        assert!(!format!("{found:?}").contains("secret"));
    }

    #[test]
    fn variables_come_before_the_profile() {
        let home = ("HOME", "/home/x");
        check(&[], [None; 4]);
        check(&[home], [Some("D"), None, None, Some("eu-west-1")]);
        check(
            &[home, ("AWS_PROFILE", "lab")],
            [Some("L"), Some("t"), Some("http://lab:9000"), None],
        );
        check(
            &[
                home,
                ("AWS_ACCESS_KEY_ID", "E"),
                ("AWS_SECRET_ACCESS_KEY", "secret"),
                ("AWS_ENDPOINT_URL", "http://one"),
                ("AWS_ENDPOINT_URL_S3", "http://two"),
                ("AWS_DEFAULT_REGION", "r"),
                ("AWS_REGION", " "),
            ],
            [Some("E"), None, Some("http://two"), Some("r")],
        );
        // A key without its secret is no credential.
        check(&[("AWS_ACCESS_KEY_ID", "E")], [None; 4]);
    }
}
