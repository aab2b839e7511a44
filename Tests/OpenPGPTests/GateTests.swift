import Testing

@testable import OpenPGP

/// Who may start gpg when.
@Suite struct GateTests {
    private let gate = Gate(places: 2)
    private let wakeup: Wakeup

    init() throws {
        wakeup = try Wakeup()
    }

    private func request(_ key: UInt64) -> Gate.Pass {
        gate.request(wakeup, in: .secretKeys([key]))
    }

    /// Forty messages for a locked key leave the other place to others, and don't stand before them in a queue.
    @Test func lanesTakeTurns() {
        let locked = (0..<40).map { _ in request(1) }
        #expect(locked.map(\.isGranted) == [true] + [Bool](repeating: false, count: 39))
        let other = request(2)
        #expect(other.isGranted)

        // It waits for a passphrase; the next one of its lane comes after the others that wait.
        let third = request(3)
        let fourth = request(4)
        locked[0].giveBack(.waitsForPerson)
        #expect(third.isGranted && !fourth.isGranted && !locked[1].isGranted)
        other.giveBack(.done)
        #expect(fourth.isGranted && !locked[1].isGranted)
        third.giveBack(.done)
        #expect(locked[1].isGranted)
        fourth.giveBack(.done)
        // A locked key has one place.
        #expect(!locked[2].isGranted)
        #expect(request(5).isGranted)
    }

    @Test func anUnlockedKeyHasAllPlacesThatNobodyElseWaitsFor() {
        let passes = (0..<4).map { _ in request(1) }
        #expect(passes.map(\.isGranted) == [true, false, false, false])
        passes[0].giveBack(.done)
        #expect(passes.map(\.isGranted) == [false, true, true, false])
        let other = request(2)
        passes[1].giveBack(.done)
        // Its turn was before the other's; then theirs is.
        #expect(passes[3].isGranted && !other.isGranted)
        passes[2].giveBack(.done)
        #expect(other.isGranted)
    }

    @Test func whoLeavesHoldsNobodyUp() {
        let first = request(1)
        let second = request(1)
        let third = request(1)
        second.giveBack()
        first.giveBack()
        #expect(third.isGranted)
        third.giveBack()
        third.giveBack()
        #expect(request(2).isGranted && request(3).isGranted && !request(4).isGranted)
    }

    /// gpg-agent lets everybody wait who needs a key for which a person is asked, though they forbid it to ask.
    @Test func whatMayNotAskIsRefusedWhileAPersonIsAsked() {
        let early = gate.request(wakeup, in: .unlockedKeys([1, 7]))
        let asking = request(1)
        #expect(early.isGranted && asking.isGranted && !early.isRefused)
        asking.giveBack(.waitsForPerson)
        #expect(early.isRefused)
        #expect(gate.request(wakeup, in: .unlockedKeys([1])).isRefused)
        #expect(!gate.request(wakeup, in: .unlockedKeys([2])).isRefused)
        asking.giveBack(.done)
        #expect(!gate.request(wakeup, in: .unlockedKeys([1])).isRefused)
    }

    /// What others push may ask for any passphrase, for as long as nobody answers.
    @Test func passphrasesOfMessagesHoldTheKeysMessagesNotUp() {
        let own = (0..<2).map { _ in gate.request(wakeup, in: .ownPassphrase([1])) }
        #expect(own.map(\.isGranted) == [true, false])
        let first = request(1)
        #expect(first.isGranted)
        first.giveBack(.done)
        own[0].giveBack(.waitsForPerson)
        #expect(own[1].isGranted)
        own[1].giveBack(.waitsForPerson)
        #expect(request(1).isGranted)
        #expect(gate.request(wakeup, in: .unlockedKeys([1])).isRefused)
    }

    @Test func whatAsksNobodyMayHaveAllPlaces() {
        let listings = (0..<3).map { _ in gate.request(wakeup, in: .withoutAsking) }
        #expect(listings.map(\.isGranted) == [true, true, false])
    }
}
