import OpenPGP
import Stores
import System
import TestKit
import Testing

@testable import Daemon

/// What `status` and `recipients abort` know of a change that a save is making.
@Suite struct RunningChangesTests {
    @Test func whoAbortsWaitsForTheEnd() throws {
        let changes = RunningChanges()
        #expect(changes.abort() == nil && !changes.isAny)
        let change = changes.begin(3)
        // It finds the other one at work, and fails.
        let second = changes.begin(1)
        let end = Background { changes.abort() }
        while !second.cancellation.isCancelled { PosixThread.sleep(for: .milliseconds(1)) }
        #expect(change.cancellation.isCancelled)
        changes.end(second, .undone(keptAt: nil))
        // It was too far to be stopped.
        changes.end(change, .finished)
        #expect(try end.value() == .finished)
        #expect(!changes.isAny && changes.progress == nil)
    }

    @Test func progressGoesForward() {
        let changes = RunningChanges()
        let change = changes.begin(3)
        #expect(changes.progress == Reencryption.Progress(step: .encrypting, done: 0, total: 3))
        for done in [2, 1] { change.note(Reencryption.Progress(step: .encrypting, done: done, total: 3)) }
        #expect(changes.progress?.done == 2)
        change.note(Reencryption.Progress(step: .placing, done: 0, total: 3))
        #expect(changes.progress == Reencryption.Progress(step: .placing, done: 0, total: 3))
        changes.end(change, .finished)
    }
}
