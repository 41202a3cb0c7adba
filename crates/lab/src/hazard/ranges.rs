//! A server that answers 416 to every range request.
//!
//! N7, Castillo A.3.2: servers answer with range errors if the file is smaller than the range. The crawler must repeat
//! the request without `Range`. RFC 9110, 14.2.

use std::io;

use super::{HazardRequest, request::ordinary};

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if request.head.range {
        return request
            .answer(416, "Content-Range: bytes */900\r\n", "")
            .await;
    }
    ordinary(request).await
}
