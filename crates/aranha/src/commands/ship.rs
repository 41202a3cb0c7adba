//! `aranha ship`: uploads the volumes that wait for an object store.

use aranha_volume::VolumeError;
use clap::Args;
use serde_json::json;

use crate::display::about;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::output::{Output, counted, message};
use crate::settings;
use crate::shared_args::{CollectionArg, JsonObjectArg};

const EXAMPLES: &str = "\
Examples:
  aranha ship -c national
  aranha ship -c old-crawl --volumes s3://archive/old-crawl

The keys of the store come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the profile in ~/.aws. If the \
store is not Amazon's, AWS_ENDPOINT_URL must have its address. A crawl uploads its volumes itself. This command uploads \
volumes that a crawl could not upload.";

/// Upload the volumes that wait for an object store (S3)
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// Upload to this store instead of those in `volume.stores` (`s3://BUCKET/PREFIX`); repeatable
    #[arg(long, value_name = "URL", value_parser = settings::volumes)]
    volumes: Vec<String>,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let folder = &arguments.collection.folder;
    let opened = frontier_access::require_existing(&arguments.collection)?;
    let mut options = opened.config.volume;
    if !arguments.volumes.is_empty() {
        options.stores.clone_from(&arguments.volumes);
    }
    if !options.stores.iter().any(|store| store.contains("://")) {
        return Err(CommandError::usage("no object store is configured")
            .hint("name one with --volumes s3://BUCKET/PREFIX, or set volume.stores"));
    }
    let shipped = aranha_volume::ship(folder, &options, |progress| {
        message(format_args!(
            "uploaded {}, {}",
            progress.volume,
            about(progress.size)
        ));
    })
    .map_err(|error| cannot_upload(&error))?;
    if arguments.output.json {
        let mut output = Output::new();
        output.json(&json!({"volumes": shipped.volumes, "bytes": shipped.bytes}))?;
        output.finish()?;
    } else {
        message(format_args!(
            "{} uploaded, {}",
            counted(shipped.volumes, "volume"),
            about(shipped.bytes)
        ));
    }
    Ok(ExitStatus::Done)
}

/// The error for volumes that no store took.
pub(crate) fn cannot_upload(error: &VolumeError) -> CommandError {
    let hint = match error {
        VolumeError::InUse { .. } => "a crawl or another command is uploading; wait until it ends",
        VolumeError::Store { .. } => {
            "check the address, the keys (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE) and AWS_ENDPOINT_URL; \
             the volumes stay on the local disk"
        }
        _ => "make sure that you are allowed to read and write archive/ and indexes/",
    };
    CommandError::failed(error.to_string()).hint(hint)
}
