//! `aranha demo`: serves a small web on loopback and crawls it.
//!
//! The sites are served over real sockets and resolved by a real DNS server on loopback. The result is an ordinary
//! collection. Nothing outside this machine is contacted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aranha_engine::config::{FlagValues, Layers};
use aranha_engine::{Clock, Collection, Role};
use aranha_frontier::View;
use aranha_lab::{Lab, Plan};
use aranha_units::duration;
use aranha_url::Canonicaliser;
use clap::Args;
use toml::Value;

use crate::commands::crawl;
use crate::display::OutputMode;
use crate::error::{CommandError, ExitStatus};
use crate::session::{self, Session};
use crate::settings::{self, span};

const EXAMPLES: &str = "\
Examples:
  aranha demo                  into a new folder in the temporary directory
  aranha demo -c try           into ./try
  aranha demo --pause 500ms    slower

Ctrl-C stops the demo. `aranha demo -c DIR` continues it: the same web is served again.";

/// Crawl a small web that aranha serves on loopback; works offline
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Folder of the collection [default: a new one in the temporary directory]
    #[arg(short = 'c', long = "collection", value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Courtesy pause between requests to one site or address
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = span, allow_hyphen_values = true)]
    pause: Duration,
    /// Print progress and summary as JSON, one object per line
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(short = 'q', long)]
    quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let mode = OutputMode::choose(arguments.json, arguments.quiet);
    let folder = arguments.folder.clone().unwrap_or_else(fresh_folder);
    crawl::runtime()?.block_on(async {
        let lab = Lab::start(plan(&folder)?).await.map_err(|error| {
            CommandError::failed(format!("cannot serve the demo web: {error}")).hint(
                "if another demo serves the same web, end it; or choose another folder with -c",
            )
        })?;
        let mut flags = FlagValues::default();
        flags.set("--pause", "crawl.pause", duration::format(arguments.pause));
        flags.set("--scope", "crawl.scope", "any");
        flags.set("--contact", "crawl.contact", "demo@localhost");
        flags.set("--allow-private", "fetch.allow_private", true);
        flags.set(
            "--resolver",
            "fetch.resolvers",
            Value::from(vec![lab.resolver().to_string()]),
        );
        let (config, origins) = settings::load(&Layers {
            flags,
            ..Layers::default()
        })?;
        let canon = Canonicaliser::new(config.url.clone());
        let seeds = lab
            .seeds()
            .into_iter()
            .map(|seed| ("seed".to_owned(), seed));
        let seeds = session::parse_seeds(&canon, seeds)?;
        mode.message(&format!(
            "serving {} sites on loopback (DNS server {}); crawling into {}",
            lab.plan().sites,
            lab.resolver(),
            folder.display()
        ));
        let first = seeds
            .first()
            .map(|seed| seed.as_str().to_owned())
            .unwrap_or_default();
        let session = Session {
            folder: &folder,
            command: "demo",
            role: Role::Crawl,
            saved_config: config.show_own(&origins),
            shared_config: None,
            has_crawl: false,
            changed_config: None,
            secret_keys: Vec::new(),
            config,
            seeds,
            seed_settings: Vec::new(),
            again: None,
            mode,
        };
        let status = session.run().await?;
        let name = folder.display();
        mode.message(&format!(
            "\nRead the result:\n  \
             aranha status -c {name}\n  \
             aranha pages -c {name}\n  \
             aranha text {first} -c {name}\n  \
             aranha why {first} -c {name}\n  \
             aranha check -c {name}"
        ));
        Ok(status)
    })
}

/// The plan of the demo web. If the folder has a collection of an earlier demo, the web gets the same port, so that the
/// crawl continues with the same URLs.
fn plan(folder: &Path) -> Result<Plan, CommandError> {
    let mut plan = Plan::demo();
    if !Collection::at(folder).exists() {
        return Ok(plan);
    }
    let seeds = View::open(folder)?.seeds()?;
    let port = seeds.first().and_then(|seed| {
        let host = seed.strip_prefix("http://")?.split('/').next()?;
        let (name, port) = host.rsplit_once(':')?;
        name.strip_suffix(".lab")?;
        port.parse().ok()
    });
    plan.port = port.ok_or_else(|| {
        CommandError::usage(format!(
            "`{}` is not a collection of the demo",
            folder.display()
        ))
        .hint("choose another folder with -c")
    })?;
    Ok(plan)
}

fn fresh_folder() -> PathBuf {
    std::env::temp_dir().join(format!("aranha-demo-{}", Clock::new().now()))
}
