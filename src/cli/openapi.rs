//! `invoicing openapi`: the published documents.

use crate::openapi::Document;

use super::command_error::CommandError;
use super::output;

/// Prints one of the published OpenAPI documents.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
    invoicing openapi catalog > catalog.yaml
    invoicing openapi mobile --format json | jq .info.version

A running server serves the same: /api/v1/openapi.yaml and /api/mobile/openapi.yaml, or .json."#)]
pub(super) struct Openapi {
    /// The document to print: the product catalog API, or the mobile device-session API.
    document: Document,

    /// The document as written, in YAML, or converted to JSON.
    #[arg(long, default_value = "yaml")]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Yaml,
    Json,
}

impl Openapi {
    pub(super) fn run(self) -> Result<(), CommandError> {
        output::print(match self.format {
            Format::Yaml => self.document.yaml(),
            Format::Json => self.document.json(),
        })
    }
}
