//! Limits lines that would repeat for as long as something lasts: one a minute, with the count.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time between two lines.
const MINUTE: Duration = Duration::from_secs(60);

/// Lets a line through once a minute, and counts what it stands for.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    untold: u64,
    told_at: Option<Instant>,
}

impl Throttle {
    /// Counts one more occurrence. Returns how many there were since the previous line, if another line is due.
    pub fn again(&self) -> Option<u64> {
        // A count is consistent even if a holder of the lock panicked.
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.untold += 1;
        if counted.told_at.is_some_and(|at| at.elapsed() < MINUTE) {
            return None;
        }
        counted.told_at = Some(Instant::now());
        Some(std::mem::take(&mut counted.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_happens_ten_times_a_second_has_a_line_a_minute_with_its_number() {
        let seldom = Throttle::default();
        let mut lines = Vec::new();
        for _ in 0..1_500 {
            lines.extend(seldom.again());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(lines, [1, 600, 600]);
    }
}
