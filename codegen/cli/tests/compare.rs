//! `openapi-dropshot compare`, as people and CI see it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SHOP: &str = include_str!("../../compatibility/tests/shop.yaml");

/// A folder for one test alone, with `openapi/` and `openapi/released/`.
struct Place(PathBuf);

/// The result of the command.
struct Outcome {
    code: Option<i32>,
    output: String,
    errors: String,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("compatibility")
            .join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("openapi/released")).expect("a folder can be made");
        Self(folder)
    }

    fn write(self, file: &str, text: &str) -> Self {
        fs::write(self.0.join(file), text).expect("a file can be written");
        self
    }

    /// A folder in which version 1.4.2 is released, and `present` is the current document.
    fn with(name: &str, present: &str) -> Self {
        Self::new(name)
            .write("openapi/released/shop-1.4.2.yaml", SHOP)
            .write("openapi/shop.yaml", present)
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openapi-dropshot"));
        let output = command
            .arg("compare")
            .args(arguments)
            .current_dir(&self.0)
            .output();
        let output = output.expect("the command runs");
        let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
        Outcome {
            code: output.status.code(),
            output: text(output.stdout),
            errors: text(output.stderr),
        }
    }
}

/// The document with these replacements, each a pair of old and new text, in order.
fn shop(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(SHOP.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "the document has no {old}");
        text.replace(old, new)
    })
}

const SHORTER_NOTE: (&str, &str) = ("maxLength: 200", "maxLength: 20");
const ONE_MORE_CODE: (&str, &str) = (
    "                closed: {",
    "                too_late: { value: { error: { type: conflict_error, code: too_late } } }\n                closed: {",
);
const ANOTHER_SUMMARY: (&str, &str) = ("List orders", "Search for orders");

#[test]
fn a_document_that_is_as_released_gives_0() {
    let outcome = Place::with("unchanged", SHOP).run(&[]);
    assert_eq!(outcome.errors, "");
    assert_eq!(
        outcome.output,
        "openapi/shop.yaml 1.4.2, since openapi/released/shop-1.4.2.yaml 1.4.2\n  no change\n"
    );
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn changes_that_the_version_does_not_say_are_told_and_give_1() {
    let present = shop(&[SHORTER_NOTE, ONE_MORE_CODE, ANOTHER_SUMMARY]);
    let outcome = Place::with("unsaid", &present).run(&[]);
    assert_eq!(outcome.errors, "");
    assert_eq!(
        outcome.output,
        "\
openapi/shop.yaml 1.4.2, since openapi/released/shop-1.4.2.yaml 1.4.2
  breaking
    Note: at most 20 characters, was at most 200 characters
      breaks senders of create_order
      at /components/schemas/Note/maxLength
  compatible
    create_order answer 409: the error `too_late` is new
      for readers of create_order
      at /paths/~1orders/post/responses/409/content
  texts
    list_orders: another `summary`
    create_order answer 409: another `examples`
  Breaking changes call for 2.0.0. info.version is 1.4.2: undo the changes, or write 2.0.0 there.
"
    );
    assert_eq!(outcome.code, Some(1));
}

#[test]
fn each_severity_has_its_verdict_and_a_version_that_says_so_gives_0() {
    for (change, verdict, least) in [
        (SHORTER_NOTE, "Breaking changes call for 2.0.0.", "2.0.0"),
        (
            ONE_MORE_CODE,
            "Compatible changes, and no breaking ones, call for 1.5.0.",
            "1.5.0",
        ),
        (
            ANOTHER_SUMMARY,
            "Changes of texts alone call for 1.4.3.",
            "1.4.3",
        ),
    ] {
        let place = |version: &str| {
            let present = shop(&[change, ("version: 1.4.2", &format!("version: {version}"))]);
            Place::with("said", &present).run(&[])
        };
        for version in [least, "3.0.0"] {
            let outcome = place(version);
            let verdict = format!("{verdict} info.version {version} says so.\n");
            assert!(outcome.output.ends_with(&verdict), "{}", outcome.output);
            assert_eq!(outcome.code, Some(0), "{version}");
        }
        let outcome = place("1.4.1");
        assert!(outcome.output.contains(verdict), "{}", outcome.output);
        assert_eq!(outcome.code, Some(1));
    }
}

#[test]
fn a_version_that_goes_back_gives_1() {
    let outcome = Place::with("back", &shop(&[("version: 1.4.2", "version: 1.4.1")])).run(&[]);
    let verdict = "no change, but info.version went back from 1.4.2 to 1.4.1";
    assert!(outcome.output.contains(verdict), "{}", outcome.output);
    assert_eq!(outcome.code, Some(1));
}

#[test]
fn the_newest_release_counts_by_number_and_not_by_name() {
    let newest = shop(&[SHORTER_NOTE, ("version: 1.4.2", "version: 10.0.0")]);
    let outcome = Place::with("newest", &newest)
        .write("openapi/released/shop-10.0.0.yaml", &newest)
        .write(
            "openapi/released/shop-9.0.0.yaml",
            &shop(&[("version: 1.4.2", "version: 9.0.0")]),
        )
        .run(&[]);
    assert!(
        outcome
            .output
            .contains("shop-10.0.0.yaml 10.0.0\n  no change"),
        "{}",
        outcome.output
    );
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn any_two_files_can_be_compared_also_json() {
    let json = openapi_dropshot::source(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../compatibility/tests/shop.yaml"),
    );
    let json = json.expect("the document can be read").to_string();
    let place = Place::new("two")
        .write("old.json", &json)
        .write("same.yaml", SHOP)
        .write("new.yaml", &shop(&[SHORTER_NOTE]));
    assert_eq!(place.run(&["old.json", "same.yaml"]).code, Some(0));
    let outcome = place.run(&["old.json", "new.yaml"]);
    assert!(
        outcome
            .output
            .starts_with("new.yaml 1.4.2, since old.json 1.4.2\n  breaking\n")
    );
    assert_eq!(outcome.code, Some(1));
}

#[test]
fn what_cannot_be_compared_is_told_with_a_remedy_and_gives_1() {
    let released = "openapi/released/shop-1.4.2.yaml";
    let cases = [
        (
            Place::new("nothing"),
            vec![],
            "openapi: there is no NAME.yaml here; run this where `openapi/` holds the documents",
        ),
        (
            Place::new("unreleased").write("openapi/shop.yaml", SHOP),
            vec![],
            "openapi/shop.yaml: it has no release to be compared with; copy it to openapi/released/shop-1.4.2.yaml",
        ),
        (
            Place::new("misnamed")
                .write("openapi/shop.yaml", SHOP)
                .write("openapi/released/shop-1.0.0.yaml", SHOP),
            vec![],
            "openapi/released/shop-1.0.0.yaml: its name does not end with its info.version, 1.4.2; name it NAME-VERSION.yaml",
        ),
        (
            Place::with("gone", SHOP).write("openapi/released/market-1.4.2.yaml", SHOP),
            vec![],
            "openapi/released: it has releases of `market`, but market.yaml is not there any more; put the document back",
        ),
        (
            Place::with("version", &shop(&[("1.4.2", "next")])),
            vec![],
            "openapi/shop.yaml: /info/version: `next` is not a version that can be compared; write MAJOR.MINOR.PATCH",
        ),
        (
            Place::with("yaml", "a: 1\na: 2\n"),
            vec![],
            "openapi/shop.yaml: the text is not one value: duplicate mapping key",
        ),
        (
            Place::with("other", "swagger: '2.0'\n"),
            vec![],
            "openapi/shop.yaml: this is no OpenAPI 3.0 document; name a document with `openapi: 3.0.3`",
        ),
        (
            Place::with("reference", &shop(&[("schemas/Note'", "schemas/Gone'")])),
            vec![],
            "openapi/shop.yaml: drift cannot compare it with openapi/released/shop-1.4.2.yaml: invalid reference",
        ),
        (
            Place::with("missing", SHOP),
            vec!["missing.yaml", released],
            "missing.yaml: the file cannot be read: No such file or directory",
        ),
    ];
    for (place, arguments, expected) in cases {
        let outcome = place.run(&arguments);
        assert!(outcome.errors.starts_with(expected), "{}", outcome.errors);
        assert!(
            outcome.errors.contains("; "),
            "it has no remedy: {}",
            outcome.errors
        );
        assert_eq!(
            (outcome.code, outcome.output.as_str()),
            (Some(1), ""),
            "{expected}"
        );
    }
}

#[test]
fn wrong_usage_gives_2_and_help_0() {
    let place = Place::with("usage", SHOP);
    for arguments in [
        &["a"][..],
        &["--frobnicate", "a"],
        &["a", "b", "c"],
        &["changelog", "--write"],
    ] {
        let outcome = place.run(arguments);
        assert!(
            outcome.errors.contains("Usage: openapi-dropshot compare"),
            "{arguments:?}"
        );
        assert_eq!(outcome.code, Some(2), "{arguments:?}");
    }
    let outcome = place.run(&["--help"]);
    assert!(
        outcome
            .output
            .contains("Usage: openapi-dropshot compare [OLD NEW]"),
        "{}",
        outcome.output
    );
    assert_eq!(outcome.code, Some(0));
}

/// A document with three releases, and one more version to come.
fn history(name: &str) -> Place {
    let second = shop(&[ANOTHER_SUMMARY, ("version: 1.4.2", "version: 1.4.3")]);
    let third = shop(&[
        ANOTHER_SUMMARY,
        SHORTER_NOTE,
        ("version: 1.4.2", "version: 2.0.0"),
    ]);
    let present = shop(&[
        ANOTHER_SUMMARY,
        SHORTER_NOTE,
        ONE_MORE_CODE,
        ("version: 1.4.2", "version: 2.1.0"),
    ]);
    Place::with(name, &present)
        .write("openapi/released/shop-1.4.3.yaml", &second)
        .write("openapi/released/shop-2.0.0.yaml", &third)
}

#[test]
fn the_changelog_tells_every_version_the_newest_first() {
    let place = history("history");
    let outcome = place.run(&["changelog"]);
    assert_eq!((outcome.code, outcome.errors.as_str()), (Some(0), ""));
    assert_eq!(outcome.output, "wrote openapi/CHANGELOG.md\n");
    let text = fs::read_to_string(place.0.join("openapi/CHANGELOG.md")).expect("it was written");
    let (head, versions) = text
        .split_once("\n## ")
        .expect("it has a part for each document");
    assert!(head.starts_with("# Changelog of the documents\n"), "{head}");
    assert_eq!(
        versions,
        "\
Shop

[`shop.yaml`](shop.yaml)

### 2.1.0, not released

Compatible

- **create_order answer 409**: the error `too_late` is new. For readers of create_order.

Texts

- **create_order answer 409**: another `examples`.

### 2.0.0

Breaking

- **Note**: at most 20 characters, was at most 200 characters. Breaks senders of create_order.

### 1.4.3

Texts

- **list_orders**: another `summary`.

### 1.4.2

The first release.

| operation | | |
|---|---|---|
| `list_orders` | `GET /orders` | List orders |
| `create_order` | `POST /orders` | Order something |
| `get_order` | `GET /orders/{id}` |  |
| `cancel_order` | `DELETE /orders/{id}` |  |
| `pay` | `POST /payments` |  |
"
    );
}

#[test]
fn a_changelog_that_is_missing_or_stale_gives_1_and_is_left_alone() {
    let place = history("staleness");
    let outcome = place.run(&["changelog", "--check"]);
    assert!(
        outcome
            .errors
            .starts_with("openapi/CHANGELOG.md: cannot be read"),
        "{}",
        outcome.errors
    );
    assert_eq!(outcome.code, Some(1));

    assert_eq!(place.run(&["changelog"]).code, Some(0));
    assert_eq!(place.run(&["changelog", "--check"]).code, Some(0));
    let again = place.run(&["changelog"]);
    assert_eq!(
        (again.code, again.output.as_str()),
        (Some(0), ""),
        "nothing is to be written"
    );

    let file = place.0.join("openapi/CHANGELOG.md");
    fs::write(&file, "edited").expect("the file can be written");
    let outcome = place.run(&["changelog", "--check"]);
    assert_eq!(
        outcome.errors,
        "openapi/CHANGELOG.md: stale; run `openapi-dropshot compare changelog`, and commit it\n"
    );
    assert_eq!(outcome.code, Some(1));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "edited");
}
