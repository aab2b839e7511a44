import Dispatch
import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import System

@Suite struct RepeatedLookTests {
    /// Functions of the kernel that threads were seen waiting in, and who ends such a wait.
    @Test(arguments: [
        ("0", ThreadWait.Cause.none), ("", .none), ("futex_do_wait", .ours), ("do_wait", .ours),
        ("anon_pipe_read", .ours), ("poll_schedule_timeout.constprop.0", .ours),
        ("unix_stream_read_generic", .ours),
        ("request_wait_answer", .server), ("fuse_simple_request", .server),
        ("rpc_wait_bit_killable", .server),
        ("nfs_wait_bit_killable", .server), ("wait_for_response", .server),
        ("folio_wait_bit_common", .device),
        ("jbd2_log_wait_commit", .device),
    ])
    func whoEndsAWait(place: String, cause: ThreadWait.Cause) {
        #expect(ThreadWait.cause(of: place) == cause)
    }

    /// A thread that waits has one wait, and another one after it went on.
    @Test func aWaitIsCounted() throws {
        let identifier = Mutex<pid_t>(0)
        let (started, goOn, went, end) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0),
            DispatchSemaphore(value: 0)
        )
        let thread = try PosixThread(named: "waits") {
            identifier.withLock { $0 = PosixThread.currentIdentifier }
            started.signal()
            goOn.wait()
            went.signal()
            end.wait()
        }
        started.wait()
        let id = identifier.withLock { $0 }
        func settled() -> ThreadWait {
            var wait = ThreadWait(ofThread: id)
            while wait.cause != .ours { wait = ThreadWait(ofThread: id) }
            return wait
        }
        let first = settled()
        #expect(settled() == first)
        goOn.signal()
        went.wait()
        let second = settled()
        #expect(second.count > first.count)
        end.signal()
        thread.join()
    }

    /// Who asks while a look runs gets what a later one finds, and however many ask, one more is taken.
    @Test func whoAsksMeanwhileGetsTheNextOne() {
        let look = RepeatedLook<Int>(named: "look")
        let goOn = DispatchSemaphore(value: 0)
        let count = Mutex(0)
        func begin() -> UInt64 {
            look.begin {
                goOn.wait()
                return count.withLock { count in
                    count += 1
                    return count
                }
            }
        }
        let first = begin()
        let later = (0..<5).map { _ in begin() }
        #expect(look.last == nil && look.runningTime != nil)
        #expect(look.finding(of: first, until: .now) == nil)
        goOn.signal()
        let soon = MonotonicTime(secondsFromNow: 60)
        #expect(look.finding(of: first, until: soon) == 1)
        #expect(look.finding(of: later[0], until: .now) == nil)
        goOn.signal()
        for number in later { #expect(look.finding(of: number, until: soon) == 2) }
        #expect(look.last == 2 && look.runningTime == nil)
    }

    /// Work that waits for another thread is not a disk that does not answer.
    @Test func slowWorkIsWaitedFor() throws {
        let look = RepeatedLook<Int>(named: "look")
        let goOn = DispatchSemaphore(value: 0)
        let number = look.begin {
            goOn.wait()
            return 7
        }
        let thread = try PosixThread(named: "later") {
            PosixThread.sleep(for: .milliseconds(300))
            goOn.signal()
        }
        #expect(look.finding(of: number, patience: .seconds(60)) == 7)
        thread.join()
    }
}
