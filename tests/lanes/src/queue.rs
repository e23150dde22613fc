//! What there is to run, while it becomes more and when there is all of it.
use std::sync::{Condvar, Mutex, MutexGuard};

/// Work for several threads, which are numbered from 0.
pub struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// Each with what it takes, about.
    waiting: Vec<(u32, T)>,
    is_complete: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let state = State { waiting: Vec::new(), is_complete: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T> State<T> {
    /// What takes longest. As long as more is being built, that is for one thread alone: the compiler has the others' processors.
    fn take(&mut self, worker: usize) -> Option<T> {
        let longest = (0..self.waiting.len()).max_by_key(|at| self.waiting[*at].0);
        longest.filter(|_| self.is_complete || worker == 0).map(|at| self.waiting.swap_remove(at).1)
    }
}

impl<T> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("nobody panics with it")
    }

    /// Something that takes these seconds, about.
    pub fn add(&self, seconds: u32, work: T) {
        self.state().waiting.push((seconds, work));
        self.changed.notify_all();
    }

    /// That is all; the last of it goes with what it takes.
    pub fn complete(&self, last: (u32, T)) {
        let mut state = self.state();
        state.waiting.push(last);
        state.is_complete = true;
        self.changed.notify_all();
    }

    /// Nothing of what waits is done any more.
    pub fn give_up(&self) {
        let mut state = self.state();
        state.waiting.clear();
        state.is_complete = true;
        self.changed.notify_all();
    }

    /// Waits for something to do. Nothing: there is no more.
    pub fn next(&self, worker: usize) -> Option<T> {
        let mut state = self.state();
        loop {
            let work = state.take(worker);
            if work.is_some() || state.is_complete {
                return work;
            }
            state = self.changed.wait(state).expect("nobody panics with it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_begins_and_all_go_on() {
        let queue = Queue::default();
        queue.add(1, "short");
        queue.add(3, "long");
        assert_eq!(queue.state().take(1), None, "the compiler has the other processors");
        assert_eq!(queue.next(0), Some("long"));
        let late = std::thread::scope(|scope| {
            let other = scope.spawn(|| [queue.next(1), queue.next(1), queue.next(1)]);
            queue.complete((2, "last"));
            other.join().expect("it returns")
        });
        assert_eq!(late, [Some("last"), Some("short"), None]);
    }

    #[test]
    fn nothing_begins_when_something_does_not_build() {
        let queue = Queue::default();
        queue.add(1, "built");
        queue.give_up();
        assert_eq!((queue.next(0), queue.next(1)), (None, None));
    }
}
