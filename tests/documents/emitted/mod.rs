//! Compares the document in which the running traits describe themselves with the published one;
//! [`openapi_dropshot_test`] explains how.

mod broken;
mod running;
