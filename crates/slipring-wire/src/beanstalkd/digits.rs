//! Decimal numbers and line ends into an output buffer. Reading numbers is in `fields`.

use bytes::{BufMut, BytesMut};

/// Writes a space and the number.
pub(super) fn put_number(out: &mut BytesMut, number: u64) {
    out.put_u8(b' ');
    out.put_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Ends a line.
pub(super) fn put_crlf(out: &mut BytesMut) {
    out.put_slice(b"\r\n");
}
