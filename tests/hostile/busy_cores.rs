//! Other programs on the machine that use all of the cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use test_support::given;
use test_support::service::Service;

use crate::people::signed_in;
use crate::{BINARY, attack};

/// Threads of another program, until this is dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    /// So many of them for each core.
    fn each_core(threads: usize) -> Busy {
        let goes_on = Arc::new(AtomicBool::new(true));
        let cores = thread::available_parallelism().expect("the machine has cores");
        for _ in 0..threads * cores.get() {
            let goes_on = Arc::clone(&goes_on);
            thread::spawn(move || {
                while goes_on.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Busy(goes_on)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// What the first password needs to be judged is loaded by a thread that runs beside the others, not behind them.
#[tokio::test]
async fn the_first_password_is_set_beside_programs_that_use_all_cores() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let _busy = Busy::each_core(3);
    let begun = Instant::now();
    given!(signed_in(&service).await);
    let took = begun.elapsed();
    println!("{took:?}");
    assert!(took < Duration::from_secs(10), "it took {took:?}");
}
