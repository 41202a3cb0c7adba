//! Confines the process of a worker: no files, no network, no other programs, limited memory.
//!
//! The parts, in the order in which they take effect:
//!
//! 1. `no_new_privs`: a program that is started gets no rights from its set-user-ID bit.
//! 2. Landlock without any rule: no file can be opened or executed, no TCP port used.
//! 3. Resource limits: memory, no open files beyond those that are open, no core dump, no bytes written to files. Landlock
//!    comes before, because it needs a file descriptor.
//! 4. Two seccomp filters. The first kills the process at a system call that no reader needs and that an attacker
//!    would want: sockets, starting programs and processes, tracing, `io_uring`. The second answers every call that is not on a
//!    list with `ENOSYS`, "not implemented". Libraries handle this error, and go on without what they asked for: the
//!    allocator, for example, tries to read `/proc` and `/sys`.
//!
//! Threads are allowed, because `office_oxide` reads on a thread of its own. The flags of `clone3` are out of reach of a
//! filter, so it gives `ENOSYS`, and the C library falls back to `clone`, which passes only with `CLONE_THREAD`.
//!
//! A kernel may lack landlock or seccomp. The worker then goes on without, and reports it to the pool
//! ([`Protection`]).

use std::fmt;

use landlock::{
    ABI, Access, AccessFs, AccessNet, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use serde::{Deserialize, Serialize};

/// A protection that depends on the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Protection {
    /// The memory limit of the process.
    Memory,
    /// Landlock, since Linux 5.13: no access to files.
    Landlock,
    /// Seccomp: no dangerous system calls.
    Seccomp,
}

impl fmt::Display for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Protection::Memory => "the memory limit",
            Protection::Landlock => "landlock",
            Protection::Seccomp => "seccomp",
        })
    }
}

/// Confines the calling thread, and the threads that it starts later. `memory` is in bytes, in addition to the
/// present size of the process. Returns the protections that the kernel lacks.
pub(crate) fn confine(memory: u64) -> Vec<Protection> {
    let mut missing = Vec::new();
    let size = address_space();
    // Landlock and seccomp set `no_new_privs` too, and fail if they cannot.
    let _ = rustix::thread::set_no_new_privs(true);
    if !restrict_files() {
        missing.push(Protection::Landlock);
    }
    let most = size.map(|size| size.saturating_add(memory));
    if !limit_resources(most) {
        missing.push(Protection::Memory);
    }
    let filters = [kill_filter(), allow_filter()];
    let in_force = filters
        .into_iter()
        .all(|filter| filter.is_some_and(|filter| seccompiler::apply_filter(&filter).is_ok()));
    if !in_force {
        missing.push(Protection::Seccomp);
    }
    missing
}

/// Sets the resource limits. Returns whether the memory limit was set.
fn limit_resources(memory: Option<u64>) -> bool {
    let lower = |resource, wanted: u64| {
        let current = getrlimit(resource);
        let limit = current.maximum.map_or(wanted, |most| wanted.min(most));
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, limit)
    };
    for resource in [Resource::Core, Resource::Fsize, Resource::Nofile] {
        // Files that are open stay open.
        let _ = lower(resource, 0);
    }
    memory.is_some_and(|memory| lower(Resource::As, memory).is_ok())
}

/// Size of the address space of this process in bytes.
fn address_space() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split(' ').next()?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Denies all access to files and TCP ports. Returns whether the kernel enforces at least the denial for files.
fn restrict_files() -> bool {
    let restrict = || {
        Ruleset::default()
            .set_compatibility(landlock::CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V6))?
            .handle_access(AccessNet::from_all(ABI::V6))?
            .scope(Scope::AbstractUnixSocket | Scope::Signal)?
            .create()?
            .restrict_self()
    };
    restrict().is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

/// A condition on the lower 32 bits of an argument of a system call.
fn argument(index: u8, operator: SeccompCmpOp, value: u32) -> Option<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, u64::from(value)).ok()
}

/// Calls that kill the process.
fn kill_filter() -> Option<BpfProgram> {
    let calls = [
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_mount,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_keyctl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
    ];
    let mut rules: Vec<_> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let new_process = argument(0, SeccompCmpOp::MaskedEq(CLONE_THREAD), 0)?;
    rules.push((
        libc::SYS_clone,
        vec![SeccompRule::new(vec![new_process]).ok()?],
    ));
    filter(rules, SeccompAction::KillProcess, SeccompAction::Allow)
}

const CLONE_THREAD: u64 = libc::CLONE_THREAD as u64;

/// Calls that pass. All others give `ENOSYS`.
fn allow_filter() -> Option<BpfProgram> {
    let calls = [
        // The pipes.
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_fstat,
        // Memory.
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        // Threads.
        libc::SYS_futex,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_set_robust_list,
        libc::SYS_set_tid_address,
        libc::SYS_rseq,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_getcpu,
        libc::SYS_membarrier,
        libc::SYS_exit,
        libc::SYS_exit_group,
        // Signals: the handler of stack overflows, and abort.
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        // Time and random numbers.
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_gettimeofday,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
    ];
    let mut rules: Vec<_> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let mut allow_if = |call, conditions: Vec<Option<SeccompCondition>>| {
        let conditions = conditions.into_iter().collect::<Option<Vec<_>>>()?;
        rules.push((call, vec![SeccompRule::new(conditions).ok()?]));
        Some(())
    };
    let not_executable = || argument(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0);
    allow_if(libc::SYS_mmap, vec![not_executable()])?;
    allow_if(libc::SYS_mprotect, vec![not_executable()])?;
    let thread = argument(
        0,
        SeccompCmpOp::MaskedEq(CLONE_THREAD),
        libc::CLONE_THREAD as u32,
    );
    allow_if(libc::SYS_clone, vec![thread])?;
    // A signal to this process only: abort.
    let own_process = argument(0, SeccompCmpOp::Eq, std::process::id());
    allow_if(libc::SYS_tgkill, vec![own_process])?;
    let name = argument(0, SeccompCmpOp::Eq, libc::PR_SET_NAME as u32);
    allow_if(libc::SYS_prctl, vec![name])?;
    // Reading a limit: the new limit is a null pointer.
    let no_new_limit = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0).ok();
    allow_if(libc::SYS_prlimit64, vec![no_new_limit])?;
    filter(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
    )
}

fn filter(
    rules: Vec<(libc::c_long, Vec<SeccompRule>)>,
    matched: SeccompAction,
    other: SeccompAction,
) -> Option<BpfProgram> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let rules = rules.into_iter().collect();
    let filter = SeccompFilter::new(rules, other, matched, architecture).ok()?;
    filter.try_into().ok()
}
