//! Serves the library on http://127.0.0.1:8080.

use dropshot::{ConfigDropshot, ConfigLogging, ConfigLoggingLevel, ServerBuilder};
use loans::{Shelf, description};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let level = ConfigLoggingLevel::Info;
    let log = ConfigLogging::StderrTerminal { level }.to_logger("loans")?;
    let config = ConfigDropshot {
        bind_address: ([127, 0, 0, 1], 8080).into(),
        ..ConfigDropshot::default()
    };
    let server = ServerBuilder::new(description()?, Shelf::default(), log).config(config);
    Ok(server.start()?.await?)
}
