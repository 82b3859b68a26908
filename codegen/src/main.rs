//! Prints the module that the generator would make of a document.
fn main() {
    let mut args = std::env::args().skip(1);
    let (side, path) = (args.next().unwrap(), args.next().unwrap());
    let document = match codegen::Document::read(path) {
        Ok(document) => document,
        Err(problems) => return print!("{problems}"),
    };
    if side == "server" {
        print!("{}", codegen::server(&document).unwrap());
    } else {
        for (name, text) in codegen::client(&[document]).unwrap() {
            println!("// {name}\n{text}");
        }
    }
}
