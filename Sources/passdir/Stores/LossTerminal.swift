import Stores

extension UnsharedWork {
    /// Tells what exists nowhere else, before the user is asked.
    func print(of place: String) {
        guard !isEmpty else { return }
        StandardError.print("passdir: what exists nowhere else of \(place):")
        for line in lines() { StandardError.print("  \(line)") }
    }
}

extension PutAway {
    /// Tells where a folder lies that was moved.
    func print() {
        guard let place else { return }
        StandardError.print(
            "passdir: the folder of \"\(store)\" held what exists nowhere else and was moved to \(place)")
    }
}
