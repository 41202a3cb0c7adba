//! Uploads the last volumes to object stores before the crawl ends.

use std::path::PathBuf;
use std::time::Duration;

use aranha_volume::{Archive, Options};

use super::Context;
use super::stop::{Reason, Stop};
use crate::status::notice::{Notice, Notices};

/// When the user interrupts the uploads, the parts that are being sent may take this time.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The folder, options and notices for the uploads at the end of the crawl.
pub(super) struct Uploads {
    folder: PathBuf,
    options: Options,
    notices: Notices,
}

impl Uploads {
    pub(super) fn new(folder: PathBuf, context: &Context) -> Self {
        Self {
            folder,
            options: context.config().volume.clone(),
            notices: context.reports.notices.clone(),
        }
    }

    /// Waits until all volumes are uploaded, or until no store accepts them. If the crawl was interrupted, drained or
    /// ended by a failure, there is no wait. If the user interrupts the crawl, the wait ends. The next crawl or `aranha
    /// ship` then uploads the remaining volumes.
    pub(super) async fn finish(self, archive: &Archive, stop: &Stop) {
        let waits = matches!(stop.reason(), Some(Reason::Finished | Reason::Limit(_)));
        if self.options.stores.is_empty() {
            return;
        }
        if !waits {
            archive.stop_uploads();
        } else if let Some(volumes) = self.waiting() {
            self.notices.send(Notice::Uploading { volumes });
        }
        let finish = archive.finish_uploads();
        tokio::pin!(finish);
        tokio::select! {
            _ = &mut finish => {}
            () = stop.interrupted() => {
                archive.stop_uploads();
                // A store that hangs must not delay the end of the crawl. The next upload finds the parts that the
                // store already has.
                let _ = tokio::time::timeout(SHUTDOWN_GRACE, finish).await;
            }
        }
        if let Some(volumes) = self.waiting() {
            self.notices.send(Notice::UploadsWait { volumes });
        }
    }

    /// Number of volumes that wait for their upload; `None` if there are none.
    fn waiting(&self) -> Option<u64> {
        let waiting = aranha_volume::waiting_uploads(&self.folder, &self.options);
        let volumes = waiting.ok()??.volumes;
        (volumes > 0).then_some(volumes)
    }
}
