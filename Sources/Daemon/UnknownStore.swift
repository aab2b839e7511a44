import Stores

/// What is said of a store's name that means none.
enum UnknownStore {
    /// - Parameter names: of those that there are.
    static func sentence(_ name: String, among names: [String]) -> String {
        let what = "there is no store \"\(name)\" in the mount"
        return what + Spelling.suggestion(for: name, among: names)
    }
}
