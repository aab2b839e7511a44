import Glibc
import Testing

/// How much of the tests runs: the suite (`scripts/test`) is done in minutes; the whole takes most of an hour
/// (`scripts/soak suite COUNT`, or tests that are named: `scripts/test --filter NAME`).
public enum SuiteScale {
    /// Whether every test runs, with all its cases: where `PASSDIR_WHOLE` is set, and in every soak (`PASSDIR_SOAK`).
    public static let isWhole = getenv("PASSDIR_WHOLE") != nil || getenv("PASSDIR_SOAK") != nil
}

extension Trait where Self == ConditionTrait {
    /// A test that takes more than about a second alone: only the whole has it. Each suite keeps another, but five whose tests
    /// are long altogether: BesideGitTests, MatrixTests, SparseCheckoutTests, StoppedAgentTests and ZooTests.
    public static var slow: Self { .enabled(if: SuiteScale.isWhole, "slow: only the whole suite has it") }
}

/// The cases of a test with many of them: in the suite `count` of them, from the first to the last, in the whole all.
public func sampled<Cases: Collection>(_ cases: Cases, _ count: Int = 2) -> [Cases.Element] {
    let all = Array(cases)
    guard !SuiteScale.isWhole, all.count > count else { return all }
    return (0..<count).map { all[$0 * (all.count - 1) / max(count - 1, 1)] }
}

/// The cases of a test with two tables of arguments: in the suite each row once, with the columns in turn, so that
/// each of them is met; in the whole every row with every column.
public func tableCases<Row, Column>(_ rows: [Row], _ columns: [Column]) -> [(Row, Column)] {
    precondition(!columns.isEmpty, "a table has a column")
    if SuiteScale.isWhole { return rows.flatMap { row in columns.map { (row, $0) } } }
    return rows.enumerated().map { ($0.element, columns[$0.offset % columns.count]) }
}
