"""The system calls that are forbidden to programs, compiled by libseccomp.

The list has calls that widen the kernel's attack surface or escape the accounting of an execution.
Ordinary programs, process pools and sockets on the loopback interface use none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox.guest import landlock
from pytest_promptse.sandbox.guest.unpatched import __builtins__, errno, os, socket

_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_INT = 0xFFFFFFFF  # the kernel reads only these bits (CVE-2019-10063)
_TIOCSTI = 0x5412
_TIOCLINUX = 0x541C
# asm-generic/socket.h and linux/fcntl.h
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SO_PASSPIDFD, _SO_PEERPIDFD = 76, 77
_F_SETPIPE_SZ = 1031
_IOPRIO_WHO_USER = 3  # linux/ioprio.h
_REFUSED = (
    # namespaces and mounts
    "unshare setns umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount"
    " fspick mount_setattr open_by_handle_at name_to_handle_at quotactl"
    # other processes
    " ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd"
    # wide interfaces of the kernel
    " bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register"
    " add_key request_key keyctl personality syslog acct swapon swapoff reboot kexec_load"
    " kexec_file_load init_module finit_module delete_module iopl ioperm modify_ldt lookup_dcookie"
    " fanotify_init vhangup nfsservctl seccomp landlock_create_ruleset"
    # memory that is not counted for any process, and objects that outlive the execution
    " memfd_create memfd_secret shmget shmat semget msgget mq_open vmsplice tee"
    # information about mounts, files and processes outside the jail, or about earlier programs
    " inotify_init inotify_init1 inotify_add_watch mincore sysinfo"
    # clocks and names
    " settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname"
)
# Calls that libseccomp may not know yet. Numbers from 424 on are the same on all machines
# (https://docs.kernel.org/process/adding-syscalls.html).
_ATTRIBUTES = (
    "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat"
    " setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr"
)
_SIGNALS = "kill tkill tgkill pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo"
# The place of the argument that names the process. A program may name itself by 0 alone.
_OF_A_PROCESS = {
    "prlimit64": 0,
    "sched_setaffinity": 0,
    "sched_setattr": 0,
    "sched_setparam": 0,
    "sched_setscheduler": 0,
    "ioprio_set": 1,
    "setpriority": 1,
}
_KIND = 0xF  # the type of a socket without its flags
_STATMOUNT, _LISTMOUNT, _QUOTACTL_FD, _OPEN_TREE_ATTR, _CACHESTAT = 457, 458, 443, 467, 451
_REFUSED_NUMBERS = (_STATMOUNT, _LISTMOUNT, _QUOTACTL_FD, _OPEN_TREE_ATTR, _CACHESTAT)
_RWF_NOWAIT = 0x8  # tells whether a file is in memory, such as one that an earlier program has read


@dataclass(frozen=True, kw_only=True)
class Filters:
    """BPF instructions of this machine.

    Installing a filter takes time in proportion to its length. The warm interpreter installs the
    long one once, and programs inherit it. Each program installs one of the short ones.

    Attributes
    ----------
    jail : bytes
        Refuses the calls that even the warm interpreter does not need.
    program : bytes
        Refuses the calls that only the warm interpreter needs, to set a program up.
    offline : bytes
        Refuses sockets of the internet families as well.
    """

    jail: bytes = b""
    program: bytes = b""
    offline: bytes = b""


def compile_filters(*, namespaces: bool = True) -> Filters:
    """Return the filters.

    Parameters
    ----------
    namespaces
        False if programs have no namespaces of their own, so that the filter must keep them from
        other processes and from attributes of files.

    Raises
    ------
    SandboxError
        If libseccomp is not installed.
    """
    try:
        import pyseccomp  # noqa: PLC0415 - its import fails where libseccomp is missing
    except (ImportError, RuntimeError, OSError) as error:
        raise SandboxError(
            f"the system-call filter needs libseccomp ({error}): apt-get install libseccomp2"
        ) from None
    families = (socket.AF_INET, socket.AF_INET6)
    return Filters(
        jail=_jail(pyseccomp, namespaces=namespaces),
        program=_program(pyseccomp, namespaces=namespaces),
        offline=_program(pyseccomp, namespaces=namespaces, refused_families=families),
    )


def _jail(pyseccomp: Any, *, namespaces: bool) -> bytes:
    refuse = pyseccomp.ERRNO(errno.EPERM)
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in _REFUSED.split():
        if _is_known(pyseccomp, name):
            rules.add_rule(refuse, name)
    for number in _REFUSED_NUMBERS:
        rules.add_rule(refuse, number)
    # The flags of clone3 are in memory, which a filter cannot read. The C library then falls back
    # to clone.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    waits_not = pyseccomp.Arg(5, pyseccomp.MASKED_EQ, _RWF_NOWAIT, _RWF_NOWAIT)
    rules.add_rule(refuse, "preadv2", waits_not)
    for request in (_TIOCSTI, _TIOCLINUX):
        rules.add_rule(refuse, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _INT, request))
    _restrict_sockets(pyseccomp, rules)
    rules.add_rule(refuse, "fcntl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _INT, _F_SETPIPE_SZ))
    if not namespaces:
        # A socket could reach one of the host by its path, such as that of a container engine.
        rules.add_rule(refuse, "socket")
        for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
            rules.add_rule(refuse, "socketpair", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _KIND, kind))
    return _instructions(rules)


def _restrict_sockets(pyseccomp: Any, rules: Any) -> None:
    refuse = pyseccomp.ERRNO(errno.EPERM)
    # Unix, IPv4 and IPv6 sockets are allowed. A network namespace does not confine all other
    # families (netlink, vsock, packet …). Those are families 3 to 9 and from 11 on.
    families = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    for family in range(socket.AF_INET6):
        if family not in families:
            for call in ("socket", "socketpair"):
                rules.add_rule(refuse, call, pyseccomp.Arg(0, pyseccomp.EQ, family))
    for call in ("socket", "socketpair"):
        rules.add_rule(refuse, call, pyseccomp.Arg(0, pyseccomp.GT, socket.AF_INET6))
    # This option returns a descriptor of the process at the other end, which may be outside the
    # jail.
    for option in (_SO_PASSPIDFD, _SO_PEERPIDFD):
        for call in ("getsockopt", "setsockopt"):
            rules.add_rule(refuse, call, *_socket_option(pyseccomp, option))
    # Larger buffers use kernel memory, which is not counted for any process. The call reports
    # success without effect: the size is a hint, and ordinary programs do not check it.
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, _SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        rules.add_rule(pyseccomp.ERRNO(0), "setsockopt", *_socket_option(pyseccomp, option))


def _socket_option(pyseccomp: Any, option: int) -> tuple[Any, Any]:
    level = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _INT, socket.SOL_SOCKET)
    return level, pyseccomp.Arg(2, pyseccomp.MASKED_EQ, _INT, option)


def _program(pyseccomp: Any, *, namespaces: bool, refused_families: tuple[int, ...] = ()) -> bytes:
    refuse = pyseccomp.ERRNO(errno.EPERM)
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    if not namespaces:
        # Landlock has no right for these. They report success without effect, since programs that
        # copy or make files call them in passing.
        for name in _ATTRIBUTES.split():
            if _is_known(pyseccomp, name):
                rules.add_rule(pyseccomp.ERRNO(0), name)
        for name, place in _OF_A_PROCESS.items():
            rules.add_rule(refuse, name, pyseccomp.Arg(place, pyseccomp.NE, 0))
        # All processes of the user, of which 0 is the present one too.
        rules.add_rule(refuse, "setpriority", pyseccomp.Arg(0, pyseccomp.EQ, os.PRIO_USER))
        rules.add_rule(refuse, "ioprio_set", pyseccomp.Arg(0, pyseccomp.EQ, _IOPRIO_WHO_USER))
        if landlock.version() < landlock.SCOPE_VERSION:
            for name in _SIGNALS.split():
                rules.add_rule(refuse, name)
    rules.add_rule(refuse, "mount")
    for family in refused_families:
        rules.add_rule(refuse, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))
    for bit in range(32):
        flag = 1 << bit
        if _NAMESPACES & flag:
            rules.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    return _instructions(rules)


def _instructions(rules: Any) -> bytes:
    with TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _is_known(pyseccomp: Any, name: str) -> bool:
    try:
        return int(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)) >= 0
    except (OSError, ValueError):
        return False
