//! Every system call that exists for a module, by number. Read this file to know what is emulated.
use super::SyscallContext;
use super::calls::*;
use super::outcome::Reply;

/// What a call needs before it can reach anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The domain's own memory and state, clocks, random numbers: always there.
    Own,
    /// A granted stream or directory.
    Granted,
    /// Answered with a fixed refusal, not worth counting.
    Refused,
}

/// One emulated call.
pub struct Entry {
    /// Linux's number on x86-64, or one of those that it leaves free there (335 to 423).
    pub number: u64,
    /// Linux's name, or ours.
    pub name: &'static str,
    /// What it needs.
    pub class: Class,
    pub(super) run: fn(&SyscallContext<'_>, [u64; 6]) -> Reply,
}

macro_rules! table {
    ($($number:literal $name:ident $class:ident $file:ident :: $function:ident;)*) => {
        &[$(Entry { number: $number, name: stringify!($name), class: Class::$class, run: $file::$function }),*]
    };
}

/// The calls, by ascending number.
pub const TABLE: &[Entry] = table! {
    0   read                Granted  read_write::read;
    1   write               Granted  read_write::write;
    2   open                Granted  open::open;
    3   close               Granted  open::close;
    4   stat                Granted  stat::stat;
    5   fstat               Granted  stat::fstat;
    6   lstat               Granted  stat::lstat;
    7   poll                Granted  poll::poll;
    8   lseek               Granted  seek::lseek;
    9   mmap                Own      mmap::mmap;
    10  mprotect            Own      mmap::mprotect;
    11  munmap              Own      mmap::munmap;
    12  brk                 Own      brk::brk;
    13  rt_sigaction        Own      signal::rt_sigaction;
    14  rt_sigprocmask      Own      signal::rt_sigprocmask;
    16  ioctl               Granted  terminal::ioctl;
    17  pread64             Granted  read_write::pread;
    18  pwrite64            Granted  read_write::pwrite;
    19  readv               Granted  read_write::readv;
    20  writev              Granted  read_write::writev;
    21  access              Granted  stat::access;
    22  pipe                Granted      pipe::pipe;
    23  select              Granted  select::select;
    24  sched_yield         Own      thread::sched_yield;
    25  mremap              Own      mmap::mremap;
    26  msync               Own      mmap::msync;
    28  madvise             Own      mmap::madvise;
    32  dup                 Granted  dup::dup;
    33  dup2                Granted  dup::dup2;
    34  pause               Own      signal::pause;
    35  nanosleep           Own      sleep::nanosleep;
    36  getitimer           Own      timer::getitimer;
    37  alarm               Own      timer::alarm;
    38  setitimer           Own      timer::setitimer;
    39  getpid              Own      identity::getpid;
    40  sendfile            Granted  transfer::sendfile;
    41  socket              Granted  socket::socket;
    42  connect             Granted  socket::connect;
    43  accept              Granted  socket::accept;
    44  sendto              Granted  message::sendto;
    45  recvfrom            Granted  message::recvfrom;
    46  sendmsg             Granted  message::sendmsg;
    47  recvmsg             Granted  message::recvmsg;
    48  shutdown            Granted  socket::shutdown;
    49  bind                Granted  socket::bind;
    50  listen              Granted  socket::listen;
    51  getsockname         Granted  socket::getsockname;
    52  getpeername         Granted  socket::getpeername;
    53  socketpair          Granted  socket::socketpair;
    54  setsockopt          Granted  socket_option::setsockopt;
    55  getsockopt          Granted  socket_option::getsockopt;
    56  clone               Own      thread::clone;
    60  exit                Own      exit::exit;
    62  kill                Own      signal::kill;
    63  uname               Own      system::uname;
    72  fcntl               Granted  fcntl::fcntl;
    73  flock               Granted  lock::flock;
    74  fsync               Granted  sync::fsync;
    75  fdatasync           Granted  sync::fdatasync;
    76  truncate            Granted  truncate::truncate;
    77  ftruncate           Granted  truncate::ftruncate;
    79  getcwd              Own      cwd::getcwd;
    80  chdir               Granted  cwd::chdir;
    81  fchdir              Granted  cwd::fchdir;
    82  rename              Granted  names::rename;
    83  mkdir               Granted  names::mkdir;
    84  rmdir               Granted  names::rmdir;
    85  creat               Granted  open::creat;
    86  link                Granted  names::link;
    87  unlink              Granted  names::unlink;
    88  symlink             Granted  names::symlink;
    89  readlink            Granted  readlink::readlink;
    90  chmod               Granted  attributes::chmod;
    91  fchmod              Granted  attributes::fchmod;
    92  chown               Granted  attributes::chown;
    93  fchown              Granted  attributes::fchown;
    94  lchown              Granted  attributes::lchown;
    95  umask               Own      attributes::umask;
    96  gettimeofday        Own      clock::gettimeofday;
    97  getrlimit           Own      limits::getrlimit;
    98  getrusage           Own      system::getrusage;
    99  sysinfo             Own      system::sysinfo;
    100 times               Own      system::times;
    102 getuid              Own      identity::getuid;
    104 getgid              Own      identity::getuid;
    107 geteuid             Own      identity::getuid;
    108 getegid             Own      identity::getuid;
    110 getppid             Own      identity::getppid;
    111 getpgrp             Own      identity::getpgid;
    118 getresuid           Own      identity::getresuid;
    120 getresgid           Own      identity::getresuid;
    121 getpgid             Own      identity::getpgid;
    124 getsid              Own      identity::getpgid;
    127 rt_sigpending       Own      signal::rt_sigpending;
    128 rt_sigtimedwait     Own      signal::rt_sigtimedwait;
    129 rt_sigqueueinfo     Own      signal::rt_sigqueueinfo;
    130 rt_sigsuspend       Own      signal::rt_sigsuspend;
    131 sigaltstack         Own      signal::sigaltstack;
    133 mknod               Granted  names::mknod;
    137 statfs              Granted  stat::statfs;
    138 fstatfs             Granted  stat::fstatfs;
    157 prctl               Own      thread::prctl;
    158 arch_prctl          Refused  thread::arch_prctl;
    160 setrlimit           Own      limits::setrlimit;
    186 gettid              Own      identity::gettid;
    200 tkill               Own      signal::tkill;
    201 time                Own      clock::time;
    202 futex               Own      futex::futex;
    203 sched_setaffinity   Own      thread::sched_setaffinity;
    204 sched_getaffinity   Own      thread::sched_getaffinity;
    213 epoll_create        Granted  epoll::epoll_create;
    217 getdents64          Granted  getdents::getdents64;
    218 set_tid_address     Own      thread::set_tid_address;
    221 fadvise64           Granted  sync::fadvise;
    222 timer_create        Own      timer::timer_create;
    223 timer_settime       Own      timer::timer_settime;
    224 timer_gettime       Own      timer::timer_gettime;
    225 timer_getoverrun    Own      timer::timer_getoverrun;
    226 timer_delete        Own      timer::timer_delete;
    228 clock_gettime       Own      clock::clock_gettime;
    229 clock_getres        Own      clock::clock_getres;
    230 clock_nanosleep     Own      sleep::clock_nanosleep;
    231 exit_group          Own      exit::exit_group;
    232 epoll_wait          Granted  epoll::epoll_wait;
    233 epoll_ctl           Granted  epoll::epoll_ctl;
    234 tgkill              Own      signal::tgkill;
    253 inotify_init        Granted  inotify::inotify_init;
    254 inotify_add_watch   Granted  inotify::inotify_add_watch;
    255 inotify_rm_watch    Granted  inotify::inotify_rm_watch;
    257 openat              Granted  open::openat;
    258 mkdirat             Granted  names::mkdirat;
    259 mknodat             Granted  names::mknodat;
    260 fchownat            Granted  attributes::fchownat;
    262 newfstatat          Granted  stat::newfstatat;
    263 unlinkat            Granted  names::unlinkat;
    264 renameat            Granted  names::renameat;
    265 linkat              Granted  names::linkat;
    266 symlinkat           Granted  names::symlinkat;
    267 readlinkat          Granted  readlink::readlinkat;
    268 fchmodat            Granted  attributes::fchmodat;
    269 faccessat           Granted  stat::faccessat;
    270 pselect6            Granted  select::pselect6;
    271 ppoll               Granted  poll::ppoll;
    272 unshare             Refused  thread::not_permitted;
    273 set_robust_list     Own      futex::set_robust_list;
    274 get_robust_list     Own      futex::get_robust_list;
    275 splice              Granted  transfer::splice;
    276 tee                 Granted  transfer::tee;
    277 sync_file_range     Granted  sync::sync_file_range;
    280 utimensat           Granted  attributes::utimensat;
    281 epoll_pwait         Granted  epoll::epoll_pwait;
    282 signalfd            Granted  signal_file::signalfd;
    283 timerfd_create      Granted  event::timerfd_create;
    284 eventfd             Granted  event::eventfd;
    285 fallocate           Granted  truncate::fallocate;
    286 timerfd_settime     Granted  event::timerfd_settime;
    287 timerfd_gettime     Granted  event::timerfd_gettime;
    288 accept4             Granted  socket::accept4;
    289 signalfd4           Granted  signal_file::signalfd4;
    290 eventfd2            Granted  event::eventfd2;
    291 epoll_create1       Granted  epoll::epoll_create1;
    292 dup3                Granted  dup::dup3;
    293 pipe2               Granted      pipe::pipe2;
    294 inotify_init1       Granted  inotify::inotify_init1;
    295 preadv              Granted  read_write::preadv;
    296 pwritev             Granted  read_write::pwritev;
    299 recvmmsg            Granted  message::recvmmsg;
    302 prlimit64           Own      limits::prlimit64;
    307 sendmmsg            Granted  message::sendmmsg;
    308 setns               Refused  thread::not_permitted;
    309 getcpu              Own      thread::getcpu;
    316 renameat2           Granted  names::renameat2;
    318 getrandom           Own      random::getrandom;
    319 memfd_create        Granted  memory_file::memfd_create;
    324 membarrier          Own      thread::membarrier;
    326 copy_file_range     Granted  transfer::copy_file_range;
    332 statx               Granted  stat::statx;
    334 rseq                Refused  thread::not_here;
    400 lg_functions        Own      functions::lg_functions;
    401 lg_last_words       Own      functions::lg_last_words;
    402 lg_pass_on          Granted  pass_on::lg_pass_on;
    403 lg_is_shared        Granted  pass_on::lg_is_shared;
    424 pidfd_send_signal   Refused  thread::not_here;
    425 io_uring_setup      Refused  thread::not_here;
    426 io_uring_enter      Refused  thread::not_here;
    427 io_uring_register   Refused  thread::not_here;
    434 pidfd_open          Refused  thread::not_here;
    438 pidfd_getfd         Refused  thread::not_here;
    439 faccessat2          Granted  stat::faccessat2;
    441 epoll_pwait2        Granted  epoll::epoll_pwait2;
};

/// True of calls that hold nothing a jump out of them would lose: they take no lock, allocate nothing, change no books, and wait for nothing.
/// Handlers of the host's may interrupt them, so that they cost no system call of the host's more. Such a handler may end the thread: they
/// have nothing to drop, either.
pub fn is_plain(number: u64, arguments: [u64; 6]) -> bool {
    let is_functions = number == functions::NUMBER && functions::are_few(arguments);
    is_functions
        || matches!(
            number as i64,
            libc::SYS_sched_yield
                | libc::SYS_getpid
                | libc::SYS_gettimeofday
                | libc::SYS_getuid
                | libc::SYS_getgid
                | libc::SYS_geteuid
                | libc::SYS_getegid
                | libc::SYS_getresuid
                | libc::SYS_getresgid
                | libc::SYS_getppid
                | libc::SYS_getpgrp
                | libc::SYS_getpgid
                | libc::SYS_getsid
                | libc::SYS_gettid
                | libc::SYS_time
                | libc::SYS_clock_gettime
                | libc::SYS_clock_getres
                | libc::SYS_getcpu
        )
}

/// True of calls in which a program waits for events or for time, whether it has to sleep there or not: what its loop does between its turns. All
/// others may be made in the middle of one.
pub fn ends_turn(number: u64) -> bool {
    matches!(
        number as i64,
        libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
            | libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
            | libc::SYS_sched_yield
            | libc::SYS_pause
            | libc::SYS_rt_sigsuspend
            | libc::SYS_rt_sigtimedwait
    )
}

/// One past the last number of the table.
const NUMBERS: usize = TABLE[TABLE.len() - 1].number as usize + 1;

/// Index in [`TABLE`] plus one by number, 0 for what is not there.
const INDEX: [u8; NUMBERS] = {
    let mut index = [0; NUMBERS];
    let mut i = 0;
    while i < TABLE.len() {
        assert!(i == 0 || TABLE[i - 1].number < TABLE[i].number, "the table ascends");
        index[TABLE[i].number as usize] = i as u8 + 1;
        i += 1;
    }
    assert!(TABLE.len() < u8::MAX as usize);
    index
};

/// The call with this number.
pub(super) fn find(number: u64) -> Option<&'static Entry> {
    let index = *INDEX.get(usize::try_from(number).ok()?)?;
    TABLE.get(usize::from(index).checked_sub(1)?)
}
