//! How often somebody was served of late.
//!
//! Turns that go to whoever was served the longest ago are fair to each holder, but somebody may be several: three hundred accounts
//! that ask all the time stand in front of everybody who asks now and then. So what counts is how much each has had.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::holder::Holder;

/// So often, what was counted is halved: long enough that what somebody did before the last time is still known, and short
/// enough that nobody stands behind others for what they did a minute ago.
const HALVED_EVERY: Duration = Duration::from_secs(10);

/// How often each was served of late.
#[derive(Debug)]
pub(super) struct Served {
    counts: HashMap<Holder, u64>,
    halved: Instant,
}

impl Default for Served {
    fn default() -> Served {
        Served {
            counts: HashMap::new(),
            halved: Instant::now(),
        }
    }
}

impl Served {
    /// How often that was. Never, for those who stand for [several](Holder::is_one): they would be behind each of these.
    pub(super) fn count(&self, holder: Holder) -> u64 {
        self.counts.get(&holder).copied().unwrap_or_default()
    }

    /// Counts that it is served.
    pub(super) fn add(&mut self, holder: Holder) {
        if holder.is_one() {
            *self.counts.entry(holder).or_default() += 1;
        }
    }

    /// Halves all counts when it is time to; says whether it was.
    pub(super) fn fade(&mut self) -> bool {
        let is_time = self.halved.elapsed() >= HALVED_EVERY;
        if is_time {
            self.halved = Instant::now();
            self.counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_counted_is_halved_and_then_forgotten() {
        let mut served = Served::default();
        let somebody = Holder::User(Uuid::nil());
        for _ in 0..3 {
            served.add(somebody);
        }
        assert!(!served.fade());
        for count in [1, 0] {
            tokio::time::advance(HALVED_EVERY).await;
            assert!(served.fade());
            assert_eq!(served.count(somebody), count);
        }
        assert!(served.counts.is_empty());
    }

    #[test]
    fn who_stands_for_several_is_not_counted() {
        let mut served = Served::default();
        served.add(Holder::Groups);
        assert_eq!(served.count(Holder::Groups), 0);
    }
}
