//! Generates a server's module from each test document.

use openapi_dropshot::Generator;

const DOCUMENTS: [&str; 6] = [
    "accepted/bodies.yaml",
    "accepted/security.yaml",
    "documents/library.yaml",
    "documents/parcels.yaml",
    "documents/petstore.yaml",
    "documents/shapes.json",
];

fn main() {
    DOCUMENTS
        .into_iter()
        .fold(Generator::new(), |all, document| {
            all.server(format!("../tests/{document}"))
        })
        .generate();
}
