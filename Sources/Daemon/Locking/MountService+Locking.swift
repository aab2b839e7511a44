import Access

extension MountService {
    func lock(stores names: [String]?) throws(ControlError) -> String? {
        try locking.lock(names, because: .command)
    }

    func unlock(stores names: [String]?) throws(ControlError) { try locking.unlock(names) }

    func passphrasesEntered(stores names: [String]?) throws(ControlError) {
        try locking.passphrasesEntered(names)
    }
}
