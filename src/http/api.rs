//! What a server answers, and by whom.

use dropshot::ApiDescription;
use openapi_dropshot_runtime::Methods;

use super::context::Context;

/// The implementation of the generated traits.
pub enum Service {}

/// What a server answers.
pub struct Api {
    /// Every method of every path.
    pub endpoints: ApiDescription<Context>,
    /// Which methods each path has, for the answer to one that it does not have.
    pub methods: Methods,
    /// The name of each operation in metrics.
    pub operations: Vec<&'static str>,
}
