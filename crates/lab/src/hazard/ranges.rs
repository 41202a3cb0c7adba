//! A server that answers 416 to every range request.
//!
//! N7, Castillo A.3.2: range errors on files smaller than the range. The crawler repeats the request without `Range`.
//! RFC 9110, 14.2.

use std::io;

use super::{Visit, visit::ordinary};

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if visit.head.range {
        return visit
            .answer(416, "Content-Range: bytes */900\r\n", "")
            .await;
    }
    ordinary(visit).await
}
