//! Encoding of a waiting page, used by the window (`window.rs`), the queue (`queue.rs`) and the pages that wait until
//! their due time (`later.rs`).

use aranha_url::PathKey;

use crate::codec::{BlockBuffer, Reader, put_str, put_varint};
use crate::{Hop, Past, Pending};

pub(crate) fn put_page(block: &mut BlockBuffer, page: &Pending) {
    block.fixed.extend_from_slice(&page.key.0.to_le_bytes());
    let text = &mut block.text;
    text.extend_from_slice(&[page.tries, u8::from(page.past.is_some())]);
    put_varint(text, u64::from(page.depth));
    put_varint(text, u64::from(page.site_depth));
    text.push(page.hop.byte());
    put_str(text, &page.path);
    put_str(text, &page.via);
    if let Some(past) = &page.past {
        past.put(block);
    }
}

pub(crate) fn read_page(text: &mut Reader<'_>, fixed: &mut Reader<'_>) -> Option<Pending> {
    let key = PathKey(fixed.word()?);
    let (tries, has_past) = (text.byte()?, text.byte()? != 0);
    let (depth, site_depth, letter) = (text.number()?, text.number()?, text.byte()?);
    let (path, via) = (text.text()?, text.text()?);
    let mut page = Pending {
        key,
        tries,
        depth,
        site_depth,
        hop: Hop::from_stored(letter, via)?,
        path: path.to_owned(),
        via: via.to_owned(),
        past: None,
    };
    if has_past {
        page.past = Some(Box::new(Past::read(text, fixed)?));
    }
    Some(page)
}

/// Skip an encoded page without building a [`Pending`].
pub(crate) fn skip_page(text: &mut Reader<'_>, fixed: &mut Reader<'_>) -> Option<()> {
    fixed.word()?;
    let (_, has_past) = (text.byte()?, text.byte()? != 0);
    for _ in 0..3 {
        text.varint()?;
    }
    for _ in 0..2 {
        let length = text.number()?;
        text.take(length)?;
    }
    if has_past {
        Past::read(text, fixed)?;
    }
    Some(())
}
