import SystemPackage
import Testing

@testable import System

@Suite struct EndWatchTests {
    @Test func whoHasEndedIsToldUntilForgotten() throws {
        let watch = try EndWatch()
        let children = try (0..<20).map { _ in
            try ChildProcess(
                ["sleep", "60"], environment: ["PATH": "/usr/bin:/bin"], descriptors: [nil, nil, nil])
        }
        defer { for child in children { child.kill() } }
        var watched = try children.map { try RunningProcess($0.pid) }
        for process in watched { try watch.add(process) }
        #expect(watch.ended() == [])
        for child in children.dropLast() {
            child.kill()
            _ = child.wait()
        }
        // More than are told at once.
        let told = Set((0..<3).flatMap { _ in watch.ended() })
        #expect(told == Set(children.dropLast().map(\.pid)))
        watched.removeFirst(18)
        #expect(watch.ended() == [children[18].pid])
        #expect(watch.ended() == [children[18].pid])
        watched.removeFirst()
        #expect(watch.ended() == [])
        children[19].kill()
        _ = children[19].wait()
        #expect(watch.ended() == [children[19].pid])
        watched.removeAll()
    }
}
