import Glibc

/// How long a test that can go on for ever is to go on: short in the suite, as long as one likes in `scripts/soak`.
enum Soak {
    /// The count that `scripts/soak NAME COUNT` asks for, else the suite's.
    static func count(inSuite short: Int) -> Int {
        guard let text = getenv("PASSDIR_SOAK"), let count = Int(String(cString: text)), count > 0 else {
            return short
        }
        return count
    }

    /// Progress, where somebody waits for a long run.
    static func say(_ line: @autoclosure () -> String) {
        guard getenv("PASSDIR_SOAK") != nil else { return }
        print("soak: \(line())")
        fflush(nil)
    }
}
