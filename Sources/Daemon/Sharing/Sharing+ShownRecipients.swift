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
                    recipients: try lines.flatMap { try report($0, store, in: nil) })
            }
            let file = try store.recipientFile(for: place.folder.appending(Store.recipientFileName))
            let lines = try store.recipientFileContent(file).lines
            return RecipientsReport(
                place: place.title, file: file.string,
                recipients: try lines.flatMap { try report($0, store, in: file) })
        }
    }

    /// - Parameter file: the list that has the line; nil where none has.
    private func report(
        _ line: String, _ store: Store, in file: FilePath?
    ) throws(OpenPGPError) -> [RecipientReport] {
        do throws(OpenPGPError) {
            let now = Int64(time(nil))
            let recipients = try store.engine.resolve(line)
            let new = Set(file.map { store.notAgreed(recipients, in: $0) } ?? [])
            return recipients.map { recipient in
                RecipientReport(
                    line: line, fingerprint: recipient.key.fingerprint.description,
                    userID: recipient.key.userIDs.first?.text, isOwn: recipient.isOwn,
                    isUnapproved: new.contains(recipient),
                    problem: recipient.objection(at: now, trust: store.options.trust)?.message)
            }
        } catch  where error.code == .timedOut {
            throw error
        } catch {
            return [RecipientReport(line: line, isOwn: false, isUnapproved: false, problem: error.message)]
        }
    }
}
