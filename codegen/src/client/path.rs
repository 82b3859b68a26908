//! Segments of a path. URLs cannot keep three of them: an empty segment, `.` and `..` would change the path.

/// Returns the segment that stands for a value.
///
/// # Errors
/// If no segment does.
pub fn segment(name: &str, value: &str) -> Result<String, String> {
    match value {
        "" | "." | ".." => Err(format!(
            "no path can say {value:?}, which is the value of {name}"
        )),
        _ => Ok(progenitor_client::encode_path(value)),
    }
}
