import SystemPackage
import TestKit
import Testing

/// Every file in Transcripts is one test.
@Suite struct TranscriptTests {
    static let folder = FilePath(#filePath).removingLastComponent().appending("Transcripts")

    @Test(arguments: try Transcript.all(in: folder))
    func transcript(_ transcript: Transcript) throws {
        try TestHome.with { home in
            if let difference = try transcript.difference(in: home) {
                Issue.record("\(difference)")
            }
        }
    }
}
