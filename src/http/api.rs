//! The endpoints of a server, and the type that implements them.

use dropshot::ApiDescription;
use openapi_dropshot_runtime::Methods;

use super::context::Context;

/// The implementation of the generated traits.
pub enum Service {}

/// The endpoints of a server.
pub struct Api {
    /// Every method of every path.
    pub endpoints: ApiDescription<Context>,
    /// Which methods each path has, for answering requests with any other.
    pub methods: Methods,
    /// The name of each operation in metrics.
    pub operations: Vec<&'static str>,
}
