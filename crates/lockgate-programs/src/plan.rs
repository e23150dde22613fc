//! What is to be done when: which program starts, is asked to end, is killed. It knows no threads and no clock: its caller says what has
//! happened and what time it is, and does what it says. Programs are numbers here.

use crate::spec::{BackOff, Ended, Restart};
use std::time::Duration;

/// What a program is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It waits until what it depends on is ready.
    Waiting,
    /// It runs and is not ready yet.
    Starting,
    /// It runs and is ready.
    Running,
    /// It has ended, and starts again when its delay is over.
    Restarting,
    /// It was asked to end and has not yet.
    Stopping,
    /// It has ended because it was asked to, or was never started.
    Stopped,
    /// It has ended by itself, with exit status 0.
    Exited,
    /// It has ended by itself in another way, could not be started, or what it depends on has ended before it was ready.
    Failed,
}

impl State {
    /// Each state once: what reports list all programs by.
    pub const ALL: [State; 8] = [
        State::Waiting,
        State::Starting,
        State::Running,
        State::Restarting,
        State::Stopping,
        State::Stopped,
        State::Exited,
        State::Failed,
    ];

    /// Its word, as `lockgate ps` shows it.
    pub fn name(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Starting => "starting",
            State::Running => "running",
            State::Restarting => "restarting",
            State::Stopping => "stopping",
            State::Stopped => "stopped",
            State::Exited => "exited",
            State::Failed => "failed",
        }
    }

    /// Whether a thread of the program's may be running.
    pub fn is_alive(self) -> bool {
        matches!(self, State::Starting | State::Running | State::Stopping)
    }

    /// Whether the program stays as it is unless it is asked for again.
    pub fn is_over(self) -> bool {
        matches!(self, State::Stopped | State::Exited | State::Failed)
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Start this program; then say [`Plan::started`], or [`Plan::ended`].
    Start(usize),
    /// Ask it to end, as `SIGTERM` does.
    Terminate(usize),
    /// Kill it: its time to end is over.
    Kill(usize),
    /// Tell that it is ready.
    Ready(usize),
    /// Tell that it starts again after a delay.
    Restart(usize, Duration),
    /// Tell that it will not start, because this other one has ended before it was ready.
    GiveUp(usize, usize),
}

/// What the plan has to know of a program.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Programs that must be ready first.
    pub depends_on: Vec<usize>,
    /// Whether it is ready as soon as it has started.
    pub ready_at_once: bool,
    /// Whether it starts again.
    pub restart: Restart,
    /// When it does.
    pub back_off: BackOff,
    /// Time that it has to end in when it is asked to.
    pub stop_timeout: Duration,
}

/// What a user wants a program to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Up,
    Down,
    /// Down, then up.
    Again,
}

#[derive(Debug)]
struct Entry {
    rules: Rules,
    state: State,
    wish: Wish,
    /// It was ready at least once since it was last asked for.
    was_ready: bool,
    /// Number of its runs.
    life: u64,
    /// Restarts in a row, without a run that lasted.
    in_a_row: u32,
    restarts: u64,
    /// How its last run ended, if one has.
    last: Option<Ended>,
    /// When its run began.
    began: Duration,
    /// When it is to be started again, or killed.
    due: Option<Duration>,
    /// Programs that depend on it.
    users: Vec<usize>,
}

/// Several programs.
#[derive(Debug)]
pub struct Plan {
    entries: Vec<Entry>,
    actions: Vec<Action>,
    /// Those that have failed for good, in order.
    failures: Vec<usize>,
    /// Everything is to end: nothing starts any more.
    is_closing: bool,
}

impl Plan {
    /// All programs wait. [`step`](Plan::step) says which start first.
    pub fn new(rules: Vec<Rules>) -> Plan {
        let entry = |rules| Entry {
            rules,
            state: State::Waiting,
            wish: Wish::Up,
            was_ready: false,
            life: 0,
            in_a_row: 0,
            restarts: 0,
            last: None,
            began: Duration::ZERO,
            due: None,
            users: Vec::new(),
        };
        let mut entries: Vec<Entry> = rules.into_iter().map(entry).collect();
        for program in 0..entries.len() {
            for other in entries[program].rules.depends_on.clone() {
                entries[other].users.push(program);
            }
        }
        Plan { entries, actions: Vec::new(), failures: Vec::new(), is_closing: false }
    }

    /// What a program is doing.
    pub fn state(&self, program: usize) -> State {
        self.entries[program].state
    }

    /// How often it has been restarted, by its policy or on request.
    pub fn restarts(&self, program: usize) -> u64 {
        self.entries[program].restarts
    }

    /// Number of its runs: what is heard of an earlier one is of no interest.
    pub fn life(&self, program: usize) -> u64 {
        self.entries[program].life
    }

    /// The program that failed first, of those that stay failed.
    pub fn first_failure(&self) -> Option<usize> {
        self.failures.first().copied()
    }

    /// Whether nothing runs or will.
    pub fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| entry.state.is_over() && entry.wish != Wish::Again)
    }

    /// Whether a program that was asked for is ready, or will not be for now.
    pub fn has_settled(&self, program: usize) -> bool {
        let entry = &self.entries[program];
        let is_on_its_way = matches!(entry.state, State::Waiting | State::Starting | State::Stopping);
        entry.wish != Wish::Again && !is_on_its_way
    }

    /// Whether a program was ready at least once since it was last asked for.
    pub fn was_ready(&self, program: usize) -> bool {
        self.entries[program].was_ready
    }

    /// When [`step`](Plan::step) is to be asked again, if nothing happens before.
    pub fn next_due(&self) -> Option<Duration> {
        self.entries.iter().filter_map(|entry| entry.due).min()
    }

    /// A program has begun.
    pub fn started(&mut self, program: usize) {
        if self.entries[program].rules.ready_at_once {
            self.ready(program, self.entries[program].life);
        }
    }

    /// A run of a program is ready.
    pub fn ready(&mut self, program: usize, life: u64) {
        let entry = &mut self.entries[program];
        if entry.life == life && entry.state == State::Starting {
            entry.state = State::Running;
            entry.was_ready = true;
            self.actions.push(Action::Ready(program));
        }
    }

    /// The run of a program is over.
    pub fn ended(&mut self, program: usize, how: Ended, now: Duration) {
        let entry = &mut self.entries[program];
        entry.due = None;
        entry.last = Some(how);
        match entry.wish {
            Wish::Down => entry.state = State::Stopped,
            Wish::Again => {
                entry.state = State::Stopped;
                entry.restarts += 1;
                entry.in_a_row = 0;
                return;
            }
            Wish::Up if entry.rules.restart.applies_to(how) => {
                if now.saturating_sub(entry.began) >= entry.rules.back_off.reset {
                    entry.in_a_row = 0;
                }
                let delay = entry.rules.back_off.delay(entry.in_a_row);
                entry.in_a_row = entry.in_a_row.saturating_add(1);
                entry.state = State::Restarting;
                entry.due = Some(now.saturating_add(delay));
                self.actions.push(Action::Restart(program, delay));
                return;
            }
            Wish::Up if how == Ended::Well => entry.state = State::Exited,
            Wish::Up => entry.state = State::Failed,
        }
        if how != Ended::Well {
            self.failures.push(program);
        }
    }

    /// These programs are to end, and stay so.
    pub fn stop(&mut self, programs: impl IntoIterator<Item = usize>) {
        for program in programs {
            self.entries[program].wish = Wish::Down;
        }
    }

    /// All are to end, in the reverse order of their dependencies.
    pub fn close(&mut self) {
        self.is_closing = true;
        self.stop(0..self.entries.len());
    }

    /// Whether everything is to end.
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// These programs are to end, if they run, and to start again. Not while everything is to end.
    pub fn restart(&mut self, programs: impl IntoIterator<Item = usize>) {
        if !self.is_closing {
            for program in programs {
                self.entries[program].wish = Wish::Again;
            }
        }
    }

    /// What can be done now, but for starts after the first: where many are to start, their caller hears meanwhile of what has happened. Nothing is
    /// left when there is nothing to do.
    pub fn step(&mut self, now: Duration) -> Vec<Action> {
        while self.settle(now) {}
        std::mem::take(&mut self.actions)
    }

    /// Changes what can be changed; whether anything was.
    fn settle(&mut self, now: Duration) -> bool {
        let mut changed = false;
        for program in 0..self.entries.len() {
            changed |= self.settle_one(program, now);
        }
        changed
    }

    fn settle_one(&mut self, program: usize, now: Duration) -> bool {
        let (state, wish) = (self.entries[program].state, self.entries[program].wish);
        // (Each step looks at every program, and there may be a thousand: only at what is asked below.)
        let is_last = wish != Wish::Up && !self.has_user_that_ends(program);
        let blocked = if state == State::Waiting { self.blocked_by(program) } else { None };
        let one_starts = self.actions.iter().any(|action| matches!(action, Action::Start(_)));
        let entry = &mut self.entries[program];
        let is_due = entry.due.is_some_and(|due| due <= now);
        match (entry.state, entry.wish) {
            (State::Starting | State::Running, Wish::Down | Wish::Again) if is_last => {
                entry.state = State::Stopping;
                entry.due = Some(now.saturating_add(entry.rules.stop_timeout));
                self.actions.push(Action::Terminate(program));
            }
            (State::Stopping, _) if is_due => {
                entry.due = None;
                self.actions.push(Action::Kill(program));
                return false;
            }
            (State::Waiting | State::Restarting, Wish::Down) => {
                // It does not come back any more from what has ended it.
                if entry.state == State::Restarting && entry.last.is_some_and(|how| how != Ended::Well) {
                    self.failures.push(program);
                }
                entry.state = State::Stopped;
                entry.due = None;
            }
            (state, Wish::Again) if !state.is_alive() => {
                self.failures.retain(|failed| *failed != program);
                entry.state = State::Waiting;
                entry.wish = Wish::Up;
                entry.due = None;
                entry.was_ready = false;
                entry.in_a_row = 0;
            }
            (State::Restarting, Wish::Up) if is_due && !one_starts => {
                entry.restarts += 1;
                self.start(program, now);
            }
            (State::Waiting, Wish::Up) => match blocked {
                None if one_starts => return false,
                None => self.start(program, now),
                Some(Blocked::Until) => return false,
                Some(Blocked::For(other)) => {
                    entry.state = State::Failed;
                    self.failures.push(program);
                    self.actions.push(Action::GiveUp(program, other));
                }
            },
            _ => return false,
        }
        true
    }

    fn start(&mut self, program: usize, now: Duration) {
        let entry = &mut self.entries[program];
        entry.state = State::Starting;
        entry.life += 1;
        entry.began = now;
        entry.due = None;
        self.actions.push(Action::Start(program));
    }

    /// Whether another that depends on it is to end as well, and has not.
    fn has_user_that_ends(&self, program: usize) -> bool {
        let ends = |user: &usize| {
            let entry = &self.entries[*user];
            entry.state.is_alive() && entry.wish != Wish::Up
        };
        self.entries[program].users.iter().any(ends)
    }

    /// What keeps it from starting, of what it depends on.
    fn blocked_by(&self, program: usize) -> Option<Blocked> {
        let unready = |other: &&usize| {
            let entry = &self.entries[**other];
            !entry.was_ready || entry.wish == Wish::Again
        };
        let mut missing = self.entries[program].rules.depends_on.iter().filter(unready).peekable();
        missing.peek()?;
        let lost = |other: &&usize| {
            self.entries[**other].state.is_over() && self.entries[**other].wish != Wish::Again
        };
        Some(missing.find(lost).map_or(Blocked::Until, |other| Blocked::For(*other)))
    }
}

/// What a dependency does to a program that waits.
enum Blocked {
    /// It is not ready yet.
    Until,
    /// This one will never be.
    For(usize),
}

#[cfg(test)]
mod tests {
    use super::Action::{GiveUp, Kill, Start, Terminate};
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rules(depends_on: &[usize]) -> Rules {
        Rules {
            depends_on: depends_on.to_vec(),
            ready_at_once: true,
            restart: Restart::Never,
            back_off: BackOff::default(),
            stop_timeout: 10 * SECOND,
        }
    }

    fn restarting(restart: Restart) -> Plan {
        Plan::new(vec![Rules { restart, ..rules(&[]) }])
    }

    /// Starts what the plan says until it says nothing more: the order.
    fn start_all(plan: &mut Plan, now: Duration) -> Vec<usize> {
        let mut order = Vec::new();
        loop {
            let actions = plan.step(now);
            if actions.is_empty() {
                return order;
            }
            for action in actions {
                if let Start(program) = action {
                    order.push(program);
                    plan.started(program);
                }
            }
        }
    }

    #[test]
    fn a_program_starts_when_what_it_depends_on_is_ready() {
        let mut plan = Plan::new(vec![rules(&[2]), rules(&[0]), rules(&[])]);
        assert_eq!(start_all(&mut plan, Duration::ZERO), [2, 0, 1]);

        let slow = Rules { ready_at_once: false, ..rules(&[]) };
        let mut plan = Plan::new(vec![slow, rules(&[0])]);
        assert_eq!(start_all(&mut plan, Duration::ZERO), [0]);
        assert_eq!((plan.state(0), plan.state(1)), (State::Starting, State::Waiting));
        plan.ready(0, plan.life(0) + 1);
        assert_eq!(plan.state(0), State::Starting, "another run's word does not count");
        plan.ready(0, plan.life(0));
        assert_eq!(start_all(&mut plan, Duration::ZERO), [1]);
        assert_eq!((plan.state(0), plan.state(1)), (State::Running, State::Running));
    }

    /// Many take a while: who asks for their end is heard between two starts, and those that have not started do not.
    #[test]
    fn a_request_to_end_is_heard_between_starts() {
        let mut plan = Plan::new(vec![rules(&[]); 3]);
        assert_eq!(plan.step(Duration::ZERO), [Start(0)]);
        plan.started(0);
        plan.close();
        let left = plan.step(Duration::ZERO);
        assert!(left.contains(&Terminate(0)) && !left.contains(&Start(1)), "{left:?}");
        assert_eq!([plan.state(1), plan.state(2)], [State::Stopped; 2]);
    }

    #[test]
    fn a_program_does_not_start_if_what_it_depends_on_ends_before_it_is_ready() {
        let slow = Rules { ready_at_once: false, ..rules(&[]) };
        let mut plan = Plan::new(vec![slow, rules(&[0]), rules(&[1]), rules(&[])]);
        assert_eq!(start_all(&mut plan, Duration::ZERO), [0, 3]);
        plan.ended(0, Ended::Well, SECOND);
        assert_eq!(plan.step(SECOND), [GiveUp(1, 0), GiveUp(2, 1)]);
        assert_eq!(plan.first_failure(), Some(1));
        assert!(!plan.is_over(), "another one runs");
    }

    #[test]
    fn policies_say_what_is_restarted() {
        let all = [Ended::Well, Ended::Badly, Ended::Fault, Ended::NotStarted];
        let expected = [
            (Restart::Never, [false, false, false, false]),
            (Restart::OnFault, [false, false, true, false]),
            (Restart::Always, [true, true, true, true]),
        ];
        for (policy, expected) in expected {
            for (how, restarts) in all.into_iter().zip(expected) {
                let mut plan = restarting(policy);
                start_all(&mut plan, Duration::ZERO);
                plan.ended(0, how, SECOND);
                start_all(&mut plan, SECOND);
                assert_eq!(plan.restarts(0), u64::from(restarts), "{policy:?} {how:?}");
                let ended = if how == Ended::Well { State::Exited } else { State::Failed };
                assert_eq!(plan.state(0), if restarts { State::Running } else { ended });
                assert_eq!(plan.first_failure().is_some(), !restarts && how != Ended::Well);
            }
        }
    }

    /// By a clock of the test's.
    #[test]
    fn delays_double_to_a_ceiling_and_begin_again_after_a_run_that_lasted() {
        let mut plan = restarting(Restart::OnFault);
        let mut now = Duration::ZERO;
        let mut crash = |after: Duration| {
            start_all(&mut plan, now);
            assert_eq!(plan.state(0), State::Running);
            now += after;
            plan.ended(0, Ended::Fault, now);
            let actions = plan.step(now);
            let Some(Action::Restart(0, delay)) = actions.first() else { panic!("it is restarted") };
            if delay.is_zero() {
                assert_eq!(actions[1..], [Start(0)]);
                plan.started(0);
            } else {
                assert_eq!(actions.len(), 1);
                now += *delay - Duration::from_nanos(1);
                assert_eq!(plan.step(now), [], "not before its time");
                now += Duration::from_nanos(1);
            }
            delay.as_millis()
        };
        let first: Vec<u128> = (0..11).map(|_| crash(Duration::ZERO)).collect();
        assert_eq!(first, [0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000]);
        assert_eq!(crash(BackOff::default().reset - Duration::from_nanos(1)), 30_000);
        assert_eq!(crash(BackOff::default().reset), 0);
        assert_eq!(crash(Duration::ZERO), 100);
    }

    #[test]
    fn all_end_in_the_reverse_order_of_their_dependencies() {
        let mut plan = Plan::new(vec![rules(&[]), rules(&[0]), rules(&[1]), rules(&[])]);
        start_all(&mut plan, Duration::ZERO);
        plan.close();
        assert_eq!(plan.step(SECOND), [Terminate(2), Terminate(3)]);
        plan.ended(3, Ended::Well, SECOND);
        assert_eq!(plan.step(SECOND), []);
        plan.ended(2, Ended::Well, SECOND);
        assert_eq!(plan.step(SECOND), [Terminate(1)]);
        plan.ended(1, Ended::Fault, SECOND);
        assert_eq!(plan.step(SECOND), [Terminate(0)]);
        plan.restart([2]);
        plan.ended(0, Ended::Well, SECOND);
        assert_eq!(plan.step(SECOND), [], "nothing begins any more");
        assert!(plan.is_over());
        assert_eq!(plan.first_failure(), Some(1));
    }

    #[test]
    fn what_does_not_end_in_its_time_is_killed() {
        let mut plan = Plan::new(vec![Rules { stop_timeout: 3 * SECOND, ..rules(&[]) }, rules(&[])]);
        start_all(&mut plan, Duration::ZERO);
        plan.stop([0]);
        assert_eq!(plan.step(SECOND), [Terminate(0)]);
        assert_eq!(plan.next_due(), Some(4 * SECOND));
        assert_eq!(plan.step(4 * SECOND - Duration::from_nanos(1)), []);
        assert_eq!(plan.step(4 * SECOND), [Kill(0)]);
        assert_eq!(plan.step(5 * SECOND), [], "once");
        plan.ended(0, Ended::Fault, 5 * SECOND);
        assert_eq!(plan.state(0), State::Stopped);
        assert!(!plan.is_over());
    }

    #[test]
    fn what_waits_is_stopped_at_once() {
        let mut plan = Plan::new(vec![
            Rules { ready_at_once: false, ..rules(&[]) },
            rules(&[0]),
            Rules { restart: Restart::Always, ..rules(&[]) },
        ]);
        start_all(&mut plan, Duration::ZERO);
        for _ in 0..2 {
            plan.ended(2, Ended::Well, Duration::ZERO);
            start_all(&mut plan, Duration::ZERO);
        }
        assert_eq!(plan.state(2), State::Restarting);
        plan.close();
        assert_eq!(plan.step(SECOND), [Terminate(0)]);
        assert_eq!((plan.state(1), plan.state(2)), (State::Stopped, State::Stopped));
        assert_eq!(plan.step(100 * SECOND), [Kill(0)], "what was stopped does not come back");
    }

    #[test]
    fn what_has_crashed_and_is_stopped_before_it_comes_back_has_failed() {
        for (how, failure) in [(Ended::Fault, Some(0)), (Ended::Well, None)] {
            let mut plan = restarting(Restart::Always);
            start_all(&mut plan, Duration::ZERO);
            for _ in 0..2 {
                plan.ended(0, how, Duration::ZERO);
                start_all(&mut plan, Duration::ZERO);
            }
            assert_eq!((plan.state(0), plan.first_failure()), (State::Restarting, None));
            plan.close();
            plan.step(SECOND);
            assert_eq!((plan.state(0), plan.first_failure()), (State::Stopped, failure));
        }
    }

    #[test]
    fn one_is_restarted_whatever_it_does() {
        let mut plan = Plan::new(vec![rules(&[]), rules(&[0])]);
        start_all(&mut plan, Duration::ZERO);
        plan.ended(0, Ended::Fault, SECOND);
        assert_eq!((plan.state(0), plan.first_failure()), (State::Failed, Some(0)));
        plan.restart([0, 1]);
        assert_eq!(plan.step(SECOND), [Terminate(1), Start(0)]);
        plan.started(0);
        assert_eq!(plan.first_failure(), None, "it has another chance");
        plan.ended(1, Ended::Well, SECOND);
        assert_eq!(start_all(&mut plan, SECOND), [1]);
        assert_eq!((plan.restarts(1), plan.state(1)), (1, State::Running));
    }

    #[test]
    fn those_that_are_restarted_together_keep_their_order() {
        let mut plan = Plan::new(vec![rules(&[]), rules(&[0])]);
        start_all(&mut plan, Duration::ZERO);
        plan.restart([0, 1]);
        assert_eq!(plan.step(SECOND), [Terminate(1)]);
        plan.ended(1, Ended::Well, SECOND);
        assert_eq!(plan.step(SECOND), [Terminate(0)]);
        plan.ended(0, Ended::Well, SECOND);
        assert_eq!(start_all(&mut plan, SECOND), [0, 1]);
    }
}
