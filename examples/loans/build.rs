//! Makes the server's trait and the client of the document: editing it, and building again, is the whole loop.

fn main() {
    openapi_dropshot::Generator::new()
        .server("loans.yaml")
        .client("loans.yaml")
        .generate();
}
