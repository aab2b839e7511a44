import CGPGME
import Testing

@testable import OpenPGP

/// What gpgme's error codes mean.
@Suite struct EngineFailureTests {
    /// Where gpgme cannot start gpg it says what errno held last, which may be about a terminal.
    @Test func aProcessThatCannotBeHadIsNoMissingPinentry() {
        for code in [GPG_ERR_ENOTTY, GPG_ERR_EAGAIN] {
            let error = gpgme_err_make(GPG_ERR_SOURCE_GPGME, code)
            #expect(EngineFailure.code(of: error) == nil)
            #expect(EngineFailure.error(error, "gpg could not encrypt").code == .other)
            #expect(EngineFailure.words(error) == "the system allows no more processes")
        }
        let asked = gpgme_err_make(GPG_ERR_SOURCE_PINENTRY, GPG_ERR_ENOTTY)
        #expect(EngineFailure.code(of: asked) == .noPinentry)
    }
}
