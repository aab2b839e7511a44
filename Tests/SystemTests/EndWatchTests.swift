import SystemPackage
import Testing

@testable import System

@Suite struct EndWatchTests {
    @Test func anEndIsSeenUntilItIsForgotten() throws {
        let watch = try EndWatch()
        let children = try (0..<3).map { _ in
            try ChildProcess(
                ["sleep", "60"], environment: ["PATH": "/usr/bin:/bin"], descriptors: [nil, nil, nil])
        }
        defer {
            for child in children {
                child.kill()
                _ = child.wait()
            }
        }
        var watched = try children.map { try RunningProcess($0.pid) }
        for process in watched { try watch.add(process) }
        #expect(!watch.seesAnEnd)
        for child in children.dropLast() {
            child.kill()
            #expect(child.waitForEnd(atMost: .seconds(20)))
        }
        #expect(watch.seesAnEnd)
        watched.removeFirst()
        #expect(watch.seesAnEnd)
        watched.removeFirst()
        #expect(!watch.seesAnEnd)
        children[2].kill()
        #expect(children[2].waitForEnd(atMost: .seconds(20)))
        #expect(watch.seesAnEnd)
        watched.removeAll()
    }
}
