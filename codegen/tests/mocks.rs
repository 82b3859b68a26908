//! The mocks of responses that have one of several bodies. The scoreboard checks that mocks
//! compile.

use openapi_dropshot::Document;

/// The mock of a document in `accepted/`, with all spaces removed.
fn mock(document: &str) -> String {
    let path = format!(
        "{}/tests/accepted/{document}.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let document = [Document::read(path).unwrap()];
    let files = openapi_dropshot::client(&document, None, Some("mock")).unwrap();
    let text = &files[&format!("{}_mock.rs", document[0].module)];
    text.split_whitespace().collect()
}

fn has(text: &str, function: &str) {
    let function: String = function.split_whitespace().collect();
    assert!(text.contains(&function), "{function}");
}

#[test]
fn a_success_of_several_has_the_body_of_its_status() {
    let text = mock("bodies");
    has(
        &text,
        r#"pub fn created(self, value: &types::Reason) -> Self {
            Self(self.0.status(201u16)
                .header("content-type", "application/vnd.notes.v2+json")
                .body(::serde_json::to_vec(value).expect("it is JSON")),)
        }
        pub fn accepted(self) -> Self { Self(self.0.status(202u16)) }"#,
    );
}

#[test]
fn an_error_of_several_is_given_as_any_of_them_and_nothing_is_no_body() {
    let text = mock("security");
    has(
        &text,
        r#"pub fn client_error(self, status: u16, value: &types::ClosedOrNothingOrStuck,) -> Self {
            assert_eq!(status / 100u16, 4u16);
            if matches!(value, types::ClosedOrNothingOrStuck::Nothing) {
                return Self(self.0.status(status));
            }
            Self(self.0.status(status)
                .header("content-type", "application/json")
                .body(::serde_json::to_vec(value).expect("it is JSON")),)
        }"#,
    );
    assert!(!text.contains("value:::serde_json::Value"));
}
