//! From a [`Document`] to Rust.

mod server;

use std::collections::BTreeMap;

use crate::{Document, Problems};

pub(crate) fn server_module(document: &Document) -> Result<String, Problems> {
    Ok(server::tokens(document).to_string())
}

pub(crate) fn client_modules(
    _documents: &[Document],
) -> Result<BTreeMap<String, String>, Problems> {
    Ok(BTreeMap::new())
}
