//! The end of a crawl whose volumes go to object stores: the last volumes are uploaded before the crawl ends.

use std::path::PathBuf;
use std::time::Duration;

use aranha_volume::{Archive, Options};

use super::Context;
use super::stop::{Reason, Stop};
use crate::status::notice::{Notice, Notices};

/// Maximum time for the parts that are being sent when the user interrupts the uploads.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// What is needed to finish the uploads when the visits have ended.
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

    /// Waits until all volumes are uploaded or no store takes them. A crawl that was interrupted, drained or ended by
    /// a failure does not wait, and an interruption ends the wait; the volumes are then uploaded by the next crawl or
    /// by `aranha ship`.
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
                // A store that hangs must not delay the end. The parts that it has are found by the next upload.
                let _ = tokio::time::timeout(SHUTDOWN_GRACE, finish).await;
            }
        }
        if let Some(volumes) = self.waiting() {
            self.notices.send(Notice::UploadsWait { volumes });
        }
    }

    /// Number of volumes that wait; `None` if there are none.
    fn waiting(&self) -> Option<u64> {
        let waiting = aranha_volume::waiting_uploads(&self.folder, &self.options);
        let volumes = waiting.ok()??.volumes;
        (volumes > 0).then_some(volumes)
    }
}
