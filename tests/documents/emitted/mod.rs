//! The document that the running traits describe themselves with, against the published one; how they
//! are compared, [`openapi_dropshot_test`] tells.

mod broken;
mod running;
