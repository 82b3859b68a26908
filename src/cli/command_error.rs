//! Why a command did not do what it was asked to.

use dropshot::ApiDescriptionRegisterError;

use crate::domain;
use crate::start_error::StartError;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(super) enum CommandError {
    /// It could not: exit code 1.
    Failed(String),
    /// It was asked wrongly: exit code 2.
    Usage(String),
}

/// Who types a command is the operator, and may read the cause that a stranger never sees.
impl From<domain::Error> for CommandError {
    fn from(error: domain::Error) -> Self {
        Self::Failed(error.with_causes())
    }
}

impl From<ApiDescriptionRegisterError> for CommandError {
    fn from(error: ApiDescriptionRegisterError) -> Self {
        StartError::from(error).into()
    }
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
