//! Decides whose request is worked on next when many arrive at once, so that nobody's bursts hold up everyone else.
//!
//! The limits of all keys of a team allow a thousand requests at once, and several teams as many each. tokio runs tasks in the
//! order in which they became ready, so whatever others send would wait until all of these are answered. So while many tasks
//! [are ready](MANY), a request whose caller is known waits for a turn before it is worked on ([`Turns`]): a task that waits is
//! not ready, so none stands behind it, and callers take turns in equal numbers. The turn ends as soon as the work begins: what
//! that waits for, such as a commit, has bounds of its own. While few tasks are ready, nothing waits.

use tokio::runtime::Handle;

use super::rejection::Error;
use super::turns::Turns;
use crate::domain::holder::Holder;

/// So many tasks are ready at once when requests arrive faster than they are answered: some milliseconds of work. A core keeps
/// up to 256 that are not counted.
const MANY: usize = 64;

/// The turns in which requests begin while many tasks are ready.
#[derive(Debug)]
pub(super) struct Arrivals {
    runtime: Handle,
    turns: Turns,
}

impl Arrivals {
    /// For the tasks of this runtime.
    pub(super) fn new(runtime: Handle) -> Arrivals {
        Arrivals {
            runtime,
            turns: Turns::of_arrivals(),
        }
    }

    /// Waits until a request of `holder` may begin. All addresses are one holder: an attacker may have many.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when that takes too long.
    pub(super) async fn begin(&self, holder: Holder) -> Result<(), Error> {
        if self.runtime.metrics().global_queue_depth() < MANY {
            return Ok(());
        }
        drop(self.turns.take(holder.or_strangers()).await?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::FutureExt;
    use tokio::runtime::Builder;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn while_many_tasks_are_ready_a_request_waits_and_otherwise_it_begins() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.unwrap();
        let arrivals = Arrivals::new(runtime.handle().clone());
        let begin = || Box::pin(arrivals.begin(Holder::Team(Uuid::nil())));
        assert!(begin().now_or_never().is_some());
        let (go_on, waits) = mpsc::channel::<()>();
        let (is_busy, busy) = mpsc::channel();
        let keeps_busy = runtime.spawn(async move {
            is_busy.send(()).unwrap();
            _ = waits.recv();
        });
        busy.recv().unwrap();
        let ready: Vec<_> = (0..MANY).map(|_| runtime.spawn(async {})).collect();
        let mut waiting = begin();
        assert!((&mut waiting).now_or_never().is_none());
        go_on.send(()).unwrap();
        runtime.block_on(async {
            keeps_busy.await.unwrap();
            for task in ready {
                task.await.unwrap();
            }
            waiting.await.unwrap();
        });
        assert!(begin().now_or_never().is_some());
    }
}
