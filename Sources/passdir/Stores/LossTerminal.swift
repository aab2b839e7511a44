import Stores

extension UnsharedWork {
    /// Tells what exists nowhere else, before the user is asked.
    func print(of place: String) {
        guard !isEmpty else { return }
        StandardError.print("passdir: these exist nowhere else but in \(place):")
        for line in lines() { StandardError.print("  \(line)") }
    }
}

extension PutAway {
    /// Tells where a folder lies that was moved.
    func print() {
        guard let place else { return }
        StandardError.print(
            "passdir: the folder of \"\(store)\" contained data that exists nowhere else, so it was moved to \(place)"
        )
    }
}
