import Glibc
import Synchronization
import System

@testable import OpenPGP

/// Runs `body` on a thread of its own while `other` runs here; waits for both.
func inBackground<A: Sendable, R>(
    _ body: @escaping @Sendable () -> A, during other: () throws -> R
) throws -> (answer: A?, result: R) {
    let box = Box<A>()
    let ended = try Wakeups()
    try PosixThread.start(named: "test") {
        box.value.withLock { $0 = body() }
        ended.add()
    }
    let result = try other()
    guard ended.wait(for: 1, seconds: 30) else { throw Failed(description: "the operation did not end") }
    return (box.value.withLock { $0 }, result)
}

final class Box<A: Sendable>: Sendable {
    let value = Mutex<A?>(nil)
}

/// Counts events that one thread waits for.
final class Wakeups: Sendable {
    private let wakeup: Wakeup
    private let count = Mutex(0)

    init() throws { wakeup = try Wakeup() }

    func add() {
        count.withLock { $0 += 1 }
        wakeup.wake()
    }

    func wait(for number: Int, seconds: Int) -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while count.withLock({ $0 }) < number {
            guard ContinuousClock.now < deadline else { return false }
            var poller = pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&poller, 1, 1000)
            wakeup.drain()
        }
        return true
    }
}

/// A number that many threads raise.
final class Counter: Sendable {
    private let number = Mutex(0)
    var value: Int { number.withLock { $0 } }
    func add() { number.withLock { $0 += 1 } }
}

/// Messages that many threads make.
final class Messages: Sendable {
    private let list = Mutex<[[UInt8]]>([])
    var all: [[UInt8]] { list.withLock { $0 } }
    func add(_ message: [UInt8]) { list.withLock { $0.append(message) } }
}
