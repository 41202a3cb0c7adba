//! Hints for flags of other programs: wget, curl, Scrapy, `HTTrack` and Browsertrix.
//!
//! If a user types such a flag to `aranha crawl`, the hint names the flag or key with the same effect, not one with a
//! similar spelling. The table does not contain flags that aranha has under the same name. It is read only after a
//! usage error.

/// Flags and their hints. One hint serves several spellings.
#[rustfmt::skip]
const HINTS: &[(&[&str], &str)] = &[
    (&["-w", "--wait", "--delay", "--download-delay", "--waitretry"],
     "use --pause TIME; the pause grows with slow servers (crawl.pause_factor)"),
    (&["--random-wait"],
     "leave it out: the courtesy pause (--pause) follows the duration of the responses"),
    (&["-r", "--recursive"],
     "leave it out: a crawl follows links by default; --depth N and --scope REACH limit it"),
    (&["-m", "--mirror"],
     "leave it out: a crawl follows links and revisits pages by default; `aranha export mirror` writes files to browse offline"),
    (&["-np", "--no-parent"],
     "use --scope prefix, which stays below the directory of the seed"),
    (&["--level", "--max-depth", "--ext-depth"],
     "use -l N or --depth N"),
    (&["-p", "--page-requisites", "--near"],
     "use --assets, which fetches the images, style sheets, fonts and scripts of every page"),
    (&["-k", "--convert-links", "-K", "--backup-converted", "-E", "--adjust-extension", "--html-extension"],
     "leave it out: `aranha export mirror` converts links and adds extensions after the crawl"),
    (&["-H", "--span-hosts", "--scopeType", "--scope-type"],
     "use --scope domain or --scope any"),
    (&["-D", "--domains", "--allowed-domains"],
     "use --scope any --accept domain:example.org"),
    (&["--exclude-domains", "--excluded-domains"],
     "use --reject domain:example.org"),
    (&["-X", "--exclude-directories", "--exclude-dir"],
     "use --reject 'path:/docs/*'"),
    (&["-I", "--include-directories"],
     "use --accept 'path:/docs/*'"),
    (&["--exclude", "--deny", "--blacklist", "--block"],
     "use --reject FILTER, such as --reject 'path:/docs/*'"),
    (&["--include", "--allow", "--filter"],
     "use --accept FILTER, such as --accept 'path:/docs/*'"),
    (&["--accept-regex"],
     "use --accept 'regex:…'"),
    (&["--reject-regex"],
     "use --reject 'regex:…'"),
    (&["-A"],
     "use --accept ext:pdf to crawl only such URLs, --keep ext:pdf to store only these, or --user-agent TEXT for the name of the crawler"),
    (&["-R"],
     "use --reject ext:zip"),
    (&["--ignore-case", "--regex-type"],
     "leave it out: ext: ignores case, and 'regex:(?i)…' does so in a regular expression"),
    (&["-Q", "--quota", "--max-size", "--size-limit", "--sizeLimit"],
     "use --size SIZE, such as --size 500MB"),
    (&["--max-filesize"],
     "use --set fetch.max_body=10MB"),
    (&["--max-time", "--time-limit", "--timeLimit", "--closespider-timeout"],
     "use --time TIME, such as --time 8h"),
    (&["--max-pages", "--limit", "--pageLimit", "--page-limit", "--maxPageLimit"],
     "use --pages N"),
    (&["--max-rate", "--rate", "--bandwidth"],
     "use --limit-rate SIZE, such as --limit-rate 1MB"),
    (&["-T", "--timeout", "--connect-timeout", "--read-timeout", "--dns-timeout"],
     "use --set fetch.total_timeout=60s; the other limits are fetch.connect_timeout, fetch.first_byte_timeout, fetch.idle_timeout and fetch.dns_timeout"),
    (&["-t", "--tries", "--retry", "--retries"],
     "leave it out: failed pages are tried again by the table [retry] of aranha.toml"),
    (&["--workers", "--sockets", "--concurrency", "--parallel", "--threads", "-Z"],
     "use --sites N for sites in parallel, or --connections N for requests to a site of your own"),
    (&["-P", "--directory-prefix", "-O", "--output-document", "-o", "--output", "--output-file", "--path", "--output-dir"],
     "use -c DIR, the folder of the collection; `aranha cat URL -c DIR` prints one page"),
    (&["--input-file", "--urls", "--urlFile", "--seedFile", "--list"],
     "use -i FILE or --seeds FILE"),
    (&["--url", "--seed"],
     "write the URL without a flag: aranha crawl https://example.org"),
    (&["-N", "--timestamping", "-nc", "--no-clobber", "--continue", "-C", "--update", "--resume"],
     "leave it out: the same command continues a crawl, and unchanged pages are not fetched again"),
    (&["-nd", "--no-directories", "--force-directories", "-nH", "--no-host-directories", "--cut-dirs"],
     "leave it out: pages are stored in WARC files; `aranha export mirror` writes one folder for each host"),
    (&["--warc-file", "--warc-cdx", "--warc-max-size", "--generateWACZ", "--generateCDX", "--delete-after", "--spider"],
     "leave it out: every crawl writes WARC files and a CDXJ index into its collection; --keep FILTER selects what is stored"),
    (&["-L", "--location", "--max-redirect", "--max-redirs"],
     "leave it out: redirects are followed like links"),
    (&["--no-check-certificate", "--insecure", "--no-verify"],
     "leave it out: invalid certificates are recorded and do not stop a fetch; --set fetch.verify_tls=true rejects them"),
    (&["-U", "--agent"],
     "use --user-agent TEXT"),
    (&["-v", "--verbose", "-d", "--debug", "--loglevel", "--logLevel"],
     "use --log debug"),
    (&["-nv", "--no-verbose", "-s", "--silent", "--nolog"],
     "use -q or --quiet"),
    (&["-b", "--background", "--daemon"],
     "leave it out: use the shell (nohup … &) or a service manager"),
    (&["-e", "--execute"],
     "use --proxy URL for http_proxy=… and https_proxy=…, and --robots ignore together with --own-host HOST for robots=off"),
    (&["--no-robots", "--ignore-robots"],
     "use --robots ignore together with --own-host HOST, for a site of your own"),
    (&["-x", "--preproxy", "--http-proxy", "--https-proxy", "--proxyServer", "--proxy-server", "--proxy-url"],
     "use --proxy http://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT"),
    (&["--socks5"],
     "use --proxy socks5://HOST:PORT"),
    (&["--socks5-hostname", "--tor"],
     "use --proxy socks5h://HOST:PORT"),
    (&["--socks4", "--socks4a"],
     "use --proxy with an HTTP or SOCKS5 proxy; SOCKS4 is not supported"),
    (&["--proxy-user", "--proxy-password", "--proxyuser", "--proxy-basic"],
     "write the login into the URL: --proxy http://USER:PASSWORD@HOST:PORT; @FILE reads the URL from a file, $NAME from an environment variable"),
    (&["--no-proxy"],
     "use --proxy none"),
    (&["--noproxy"],
     "use --set 'fetch.no_proxy=[\"localhost\", \".example.org\"]'; --proxy none uses no proxy at all"),
    (&["-4", "--inet4-only", "--ipv4", "-6", "--inet6-only", "--ipv6"],
     "leave it out: the addresses of a host are tried in turn"),
];

/// Settings of other programs: a flag, the beginning of its value, and the hint.
#[rustfmt::skip]
const SETTINGS: &[(&[&str], &[&str], &str)] = &[
    (&["-e", "--execute"], &["http_proxy", "https_proxy", "use_proxy"],
     "use --proxy URL, for example --proxy http://proxy.example.org:3128; --proxy none uses no proxy"),
    (&["-e", "--execute"], &["no_proxy"],
     "use --set 'fetch.no_proxy=[\"localhost\", \".example.org\"]'"),
    (&["-e", "--execute"], &["robots"],
     "use --robots ignore together with --own-host HOST, for a site of your own"),
    (&["-s"], &["HTTPPROXY"],
     "use --proxy URL; --proxy none ignores http_proxy and the other environment variables"),
    (&["-s"], &["DOWNLOAD_DELAY"],
     "use --pause TIME; the pause grows with slow servers (crawl.pause_factor)"),
];

/// The hint for a flag of another program. `flag`: the flag that was not recognised. For a group of short flags
/// (`-np`), it is only the first flag of the group. `words`: the command line.
pub(crate) fn hint(flag: &str, words: impl IntoIterator<Item = String>) -> Option<&'static str> {
    let words: Vec<_> = words.into_iter().collect();
    let flag = flag.split('=').next().unwrap_or(flag);
    // The value is the rest of the word (`-ehttp_proxy=…`) or the next word.
    let values = words.iter().enumerate().filter_map(|(index, word)| {
        let rest = word.strip_prefix(flag)?.trim_start_matches('=');
        let next = || words.get(index + 1).map(String::as_str);
        if rest.is_empty() { next() } else { Some(rest) }
    });
    for value in values {
        let is_meant = |starts: &[&str]| starts.iter().any(|start| value.starts_with(start));
        let row = SETTINGS
            .iter()
            .find(|(flags, starts, _)| flags.contains(&flag) && is_meant(starts));
        if let Some((_, _, hint)) = row {
            return Some(hint);
        }
    }
    let find = |flag: &str| {
        let row = HINTS.iter().find(|(flags, _)| flags.contains(&flag));
        row.map(|(_, hint)| *hint)
    };
    // wget has flags such as `-np`, of which only `-n` was read.
    let group = words
        .into_iter()
        .filter(|word| flag.len() == 2 && !flag.starts_with("--") && word.starts_with(flag))
        .find_map(|word| find(&word));
    group.or_else(|| find(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crawl() -> clap::Command {
        let definition = crate::arguments::definition();
        let crawl = definition.find_subcommand("crawl");
        crawl.expect("there is such a command").clone()
    }

    /// The flags of `aranha crawl`, with their dashes.
    fn own_flags() -> Vec<String> {
        let mut flags = vec!["--log".to_owned()];
        for argument in crawl().get_arguments() {
            flags.extend(argument.get_long().map(|name| format!("--{name}")));
            flags.extend(argument.get_short().map(|name| format!("-{name}")));
        }
        flags
    }

    #[test]
    fn hints_name_flags_that_exist() {
        let own = own_flags();
        let hints = HINTS.iter().map(|(_, hint)| hint);
        for hint in hints.chain(SETTINGS.iter().map(|(_, _, hint)| hint)) {
            let ends = |c: char| c.is_whitespace() || ",;.()".contains(c);
            for word in hint.split(ends).filter(|word| word.starts_with('-')) {
                assert!(own.iter().any(|flag| flag == word), "{word} in {hint}");
            }
        }
    }

    #[test]
    fn every_spelling_is_foreign_and_occurs_once() {
        let own = own_flags();
        let mut seen = std::collections::BTreeSet::new();
        for flag in HINTS.iter().flat_map(|(flags, _)| *flags) {
            assert!(
                !own.contains(&(*flag).to_owned()),
                "{flag} is a flag of aranha"
            );
            assert!(seen.insert(flag), "{flag} is in two rows");
        }
    }

    #[test]
    fn groups_of_short_flags() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let line = words("aranha crawl https://example.org -np -l 2");
        assert!(hint("-n", line).is_some_and(|hint| hint.contains("--scope prefix")));
        assert_eq!(hint("-n", words("aranha crawl -n")), None);
        assert!(hint("--wait=2", words("")).is_some_and(|hint| hint.contains("--pause")));
        assert_eq!(hint("--puase", words("")), None);
    }

    #[test]
    fn settings_are_recognised_by_their_value() {
        let check = |flag: &str, line: &str, expected: &str| {
            let found = hint(flag, line.split(' ').map(str::to_owned)).unwrap_or_default();
            assert!(found.contains(expected), "{line}: {found}");
        };
        check(
            "-e",
            "aranha crawl -e http_proxy=http://h:1 https://example.org",
            "use --proxy URL, for",
        );
        check(
            "-e",
            "aranha crawl -ehttps_proxy=http://h:1",
            "use --proxy URL, for",
        );
        check(
            "--execute",
            "aranha crawl --execute=use_proxy=no",
            "--proxy none",
        );
        check("-e", "aranha crawl -e robots=off", "--robots ignore");
        check("-e", "aranha crawl -e", "--proxy URL for http_proxy=… and");
        check(
            "-s",
            "aranha crawl -s HTTPPROXY_ENABLED=False",
            "--proxy none",
        );
        check("-s", "aranha crawl -s https://example.org", "--quiet");
        check("-x", "aranha crawl -x h:1", "--proxy http://HOST:PORT");
    }
}
