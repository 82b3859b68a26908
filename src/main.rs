//! The `invoicing` binary; everything is in the library, where tests reach it.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    invoicing::cli::main()
}
