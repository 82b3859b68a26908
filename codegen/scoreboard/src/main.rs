//! Prints the scoreboard of dropshot's own documents, or of those in the given folders.

use std::path::Path;
use std::process::ExitCode;

use openapi_dropshot_scoreboard::{build, documents, of_dropshot, try_all};

fn main() -> ExitCode {
    let folders: Vec<_> = std::env::args_os().skip(1).collect();
    let paths = match folders.as_slice() {
        [] => of_dropshot(),
        folders => {
            let all = folders.iter().map(|it| documents(Path::new(it)));
            all.collect::<Result<Vec<_>, _>>().map(|it| it.concat())
        }
    };
    let folder = build::repository().join("target/scoreboard");
    match paths.and_then(|paths| try_all(&paths, &folder)) {
        Ok(scoreboard) => {
            println!("{scoreboard}");
            let mistakes = scoreboard.mistakes();
            mistakes.iter().for_each(|mistake| eprintln!("{mistake}"));
            ExitCode::from(u8::from(!mistakes.is_empty()))
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
