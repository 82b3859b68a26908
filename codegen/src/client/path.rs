//! Segments of a path. There are three that no URL keeps: an empty one, `.` and `..` would make another path of it.

/// The segment that stands for a value.
///
/// # Errors
/// When none does.
pub fn segment(name: &str, value: &str) -> Result<String, String> {
    match value {
        "" | "." | ".." => Err(format!(
            "no path can say {value:?}, which is the value of {name}"
        )),
        _ => Ok(progenitor_client::encode_path(value)),
    }
}
