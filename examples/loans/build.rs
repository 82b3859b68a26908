//! Generates the server's trait and the client from the document: after editing it, building again is all that
//! is needed.

fn main() {
    openapi_dropshot::Generator::new()
        .server("loans.yaml")
        .client("loans.yaml")
        .generate();
}
