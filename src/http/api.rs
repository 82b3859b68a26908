//! What a server answers, and by whom.

use codegen_runtime::Methods;
use dropshot::ApiDescription;

use super::context::Context;

/// The implementation of the generated traits.
pub enum Service {}

/// What a server answers.
pub struct Api {
    /// Every method of every path.
    pub endpoints: ApiDescription<Context>,
    /// What is said to methods that nobody knows.
    pub methods: Methods,
}
