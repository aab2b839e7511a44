/// The version of passdir.
public enum Version {
    /// As in CHANGELOG.md.
    public static let number = "0.1.0"
}
