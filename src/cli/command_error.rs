//! Why a command failed.

use dropshot::ApiDescriptionRegisterError;

use crate::domain;
use crate::start_error::StartError;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum CommandError {
    /// It could not be carried out: exit code 1.
    Failed(String),
    /// It was used wrongly: exit code 2.
    Usage(String),
}

/// The operator who runs a command may read the cause, which strangers never see.
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
