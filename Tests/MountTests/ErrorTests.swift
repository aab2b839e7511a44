import Glibc
import OpenPGP
import Stores
import SystemPackage
import Testing

@testable import Mount

/// Which errno a program sees for which error of a store.
@Suite struct ErrorTests {
    static let table: [(code: StoreError.Code, errno: Int32)] = [
        (.noRecipients, ENOKEY), (.badRecipientFile, EKEYREJECTED), (.badSignature, EKEYREJECTED),
        (.unconfirmedRecipients, EKEYREJECTED), (.vanishedRecipientFile, EKEYREJECTED),
        (.unreadableSecrets([]), EACCES), (.changeUnderWay, EBUSY),
        (.noChange, EBUSY), (.tooLarge, EFBIG), (.unstable, EAGAIN), (.keptElsewhere, ENOENT),
        (.overtaken, ESTALE), (.aborted, ECANCELED), (.system(.noSpace), ENOSPC),
        (.openPGP(.missingKey), ENOKEY),
        (.openPGP(.ambiguousKey), ENOKEY), (.openPGP(.expiredKey), EKEYEXPIRED),
        (.openPGP(.revokedKey), EKEYREVOKED), (.openPGP(.disabledKey), EKEYREJECTED),
        (.openPGP(.noSecretKey), EACCES), (.openPGP(.badPassphrase), EACCES), (.openPGP(.declined), EACCES),
        (.openPGP(.canceled), EINTR), (.openPGP(.timedOut), ETIMEDOUT), (.openPGP(.noPinentry), ENOTTY),
        (.openPGP(.corrupt), EIO), (.openPGP(.outOfMemory), ENOMEM), (.openPGP(.noEngine), EIO),
    ]

    @Test(arguments: table)
    func anErrorHasItsNumber(_ code: StoreError.Code, _ errno: Int32) {
        #expect(Errno(StoreError(code, "a sentence.")).rawValue == errno)
    }
}
