//! The answers of the service itself, for the contenders that only repeat them.
//!
//! What raw hyper and bare dropshot need to send the same bytes is the floor for any server built on
//! them: routing, reading the request, and writing the answer.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::dataset::{BoxError, Dataset, RefreshTokens};
use crate::load::Ask as _;
use crate::operation::{Operation, Script};
use crate::wire::{Connection, headers};

/// An answer as given by the service.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Recorded {
    /// The status.
    pub status: u16,
    /// The headers that a framework does not add itself.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// An answer for each operation.
pub type Recording = HashMap<Operation, Recorded>;

/// Headers that the framework below a contender adds.
const OF_THE_FRAMEWORK: [&str; 3] = ["date", "content-length", "connection"];

/// Sends the service one request for each operation, and records its answers.
///
/// # Errors
/// When it does not answer as it should.
pub async fn record(
    address: SocketAddr,
    dataset: &Dataset,
    tokens: &RefreshTokens,
) -> Result<Recording, BoxError> {
    let mut connection = Connection::open(address).await?;
    let mut recording = Recording::new();
    for operation in Operation::REQUESTS {
        let mut script = Script::new(operation, dataset, None, tokens, 0);
        let mut request = Vec::new();
        script.next(&mut request);
        let answer = connection.ask(&request).await?;
        script.check(answer)?;
        let mut headers = headers(answer.head)?;
        headers.retain(|(name, _)| !OF_THE_FRAMEWORK.contains(&name.as_str()));
        let recorded = Recorded {
            status: answer.status,
            headers,
            body: String::from_utf8(answer.body.to_vec())?,
        };
        recording.insert(operation, recorded);
    }
    Ok(recording)
}

/// Writes a recording to a file.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, recording: &Recording) -> Result<(), BoxError> {
    Ok(fs::write(path, serde_json::to_vec(recording)?)?)
}

/// Reads a recording from a file.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<Recording, BoxError> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}
