//! The generator as a command: judge a document, and see or write what is made of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use openapi_dropshot::{Document, Problems};

const USAGE: &str = "\
Usage: openapi-dropshot DOCUMENT
       openapi-dropshot client --out FOLDER [--inner TYPE] [--mock FEATURE] [--check] DOCUMENT...

The first form prints the server's module that would be made of an OpenAPI 3.0 document, YAML or
JSON, or every problem found in it. The second writes the client's modules into a folder; with
--check it writes nothing, and says which of them are stale. With --inner every client carries a
value of a type, by its path in the client's crate, which implements progenitor's ClientHooks for it.
With --mock every document has a mock for tests as well, under this feature of the client's crate.

Exit code: 0 when all is well, 1 when there are problems or stale files, 2 for wrong usage.

Examples:
  openapi-dropshot openapi/catalog.yaml
  openapi-dropshot client --out generated/src/openapi openapi/catalog.yaml openapi/mobile.yaml
";

/// What the command line asks for.
enum Request {
    Help,
    Server {
        document: String,
    },
    Client {
        documents: Vec<String>,
        out: String,
        inner: Option<String>,
        mock: Option<String>,
        check: bool,
    },
}

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(|it| it.into_string());
    let arguments: Result<Vec<String>, _> = arguments.collect();
    let request = arguments
        .map_err(|argument| format!("not Unicode: {}", argument.display()))
        .and_then(|arguments| parse(&arguments));
    let outcome = match request {
        Ok(Request::Help) => show(USAGE),
        Ok(Request::Server { document }) => server(&document),
        Ok(Request::Client {
            documents,
            out,
            inner,
            mock,
            check,
        }) => {
            let finish = if check { compare } else { write };
            make_client(&documents, inner.as_deref(), mock.as_deref())
                .and_then(|modules| finish(&modules, Path::new(&out)))
        }
        Err(error) => {
            eprint!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.trim_end());
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    if arguments.iter().any(|it| it == "--help" || it == "-h") {
        return Ok(Request::Help);
    }
    match arguments {
        [command, rest @ ..] if command == "client" => parse_client(rest),
        [document] if !document.starts_with('-') => Ok(Request::Server {
            document: document.clone(),
        }),
        [] => Err("name a document".to_owned()),
        _ => Err(format!("not understood: {}", arguments.join(" "))),
    }
}

fn parse_client(arguments: &[String]) -> Result<Request, String> {
    let (mut documents, mut check) = (Vec::new(), false);
    let (mut out, mut inner, mut mock) = (None, None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--check" => check = true,
            "--inner" => inner = Some(rest.next().ok_or("--inner needs a type")?.clone()),
            "--mock" => mock = Some(rest.next().ok_or("--mock needs a feature")?.clone()),
            "--out" => out = Some(rest.next().ok_or("--out needs a folder")?.clone()),
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            document => documents.push(document.to_owned()),
        }
    }
    let out = out.ok_or("--out is missing")?;
    if documents.is_empty() {
        return Err("name at least one document".to_owned());
    }
    Ok(Request::Client {
        documents,
        out,
        inner,
        mock,
        check,
    })
}

fn server(document: &str) -> Result<(), String> {
    let text = Document::read(document).and_then(|document| openapi_dropshot::server(&document));
    show(&text.map_err(|problems| problems.to_string())?)
}

/// Prints on standard output, as much as is wanted there.
fn show(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// The client's modules, by file name.
fn make_client(
    paths: &[String],
    inner: Option<&str>,
    mock: Option<&str>,
) -> Result<BTreeMap<String, String>, String> {
    let read: Vec<Result<Document, Problems>> = paths.iter().map(Document::read).collect();
    let problems: String = read
        .iter()
        .filter_map(|it| it.as_ref().err())
        .map(ToString::to_string)
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let documents: Vec<Document> = read.into_iter().flatten().collect();
    openapi_dropshot::client(&documents, inner, mock).map_err(|problems| problems.to_string())
}

fn write(modules: &BTreeMap<String, String>, out: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: cannot be written: {error}", out.display());
    fs::create_dir_all(out).map_err(failed)?;
    for (name, text) in modules {
        // What is up to date keeps its time of change, so that nothing is built again.
        if fs::read_to_string(out.join(name)).ok().as_ref() != Some(text) {
            fs::write(out.join(name), text).map_err(failed)?;
            println!("wrote {}", out.join(name).display());
        }
    }
    Ok(())
}

/// Says which files differ, are missing or are too many.
fn compare(modules: &BTreeMap<String, String>, out: &Path) -> Result<(), String> {
    let mut stale: Vec<String> = modules
        .iter()
        .filter(|(name, text)| fs::read_to_string(out.join(name)).ok().as_ref() != Some(text))
        .map(|(name, _)| format!("{}: stale", out.join(name).display()))
        .collect();
    let listed = fs::read_dir(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let names = listed
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    stale.extend(
        names
            .filter(|name| !modules.contains_key(name))
            .map(|name| format!("{}: not generated", out.join(name).display())),
    );
    if stale.is_empty() {
        return Ok(());
    }
    stale.sort();
    stale.push(
        "the documents and the client differ; remove what is not generated, and generate the rest \
         anew without --check"
            .to_owned(),
    );
    Err(stale.join("\n"))
}
