import Glibc
import OpenPGP
import Stores
import System
import SystemPackage

/// Who can read.
extension Sharing {
    /// Who can read what lies in a folder.
    public func recipients(of path: String) throws(DaemonError) -> RecipientsReport {
        let place = try place(path, for: .reading)
        let store = place.store
        return try DaemonError.wrapping {
            if let override = store.options.recipientOverride {
                let lines = override.split(separator: " ").map(String.init)
                return RecipientsReport(
                    place: place.title, file: nil,
                    recipients: try lines.flatMap { try report($0, store, new: []) })
            }
            let file = try store.recipientFile(for: place.folder.appending(Store.recipientFileName))
            let lines = try store.recipientFileContent(file).lines
            let change = (try? store.snapshot())?.changes.first { $0.file == file }
            let new = Set(change?.added ?? [])
            return RecipientsReport(
                place: place.title, file: file.string,
                recipients: try lines.flatMap { try report($0, store, new: new) }
            )
        }
    }

    /// - Parameter new: the fingerprints that wait for approval.
    private func report(
        _ line: String, _ store: Store, new: Set<String>
    ) throws(OpenPGPError) -> [RecipientReport] {
        do throws(OpenPGPError) {
            let now = Int64(time(nil))
            return try store.engine.resolve(line).map { recipient in
                RecipientReport(
                    line: line, fingerprint: recipient.key.fingerprint.description,
                    userID: recipient.key.userIDs.first?.text, isOwn: recipient.isOwn,
                    isUnapproved: new.contains(recipient.key.fingerprint.description),
                    problem: recipient.objection(at: now, trust: store.options.trust)?.message)
            }
        } catch  where error.code == .timedOut {
            throw error
        } catch {
            return [RecipientReport(line: line, isOwn: false, isUnapproved: false, problem: error.message)]
        }
    }
}
