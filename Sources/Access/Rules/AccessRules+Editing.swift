public import Settings

extension AccessRules {
    /// The rules of a place with one more: it takes the place of one for the same readers. One that denies goes before the
    /// others, one for every reader behind them.
    /// - Throws: `.value` for rules that cannot be read, and for one that would not be read back as it is.
    public static func adding(
        _ rule: AccessRule, to items: [AccessSection.Item], at place: String
    ) throws(SettingsError) -> [AccessSection.Item] {
        guard rule.isReadBack else {
            throw SettingsError(code: .value, message: "no rule can be written that says '\(rule.text)'")
        }
        let rules = try read(items, place)
        if let index = rules.firstIndex(where: { $0.isForSameReaders(as: rule) }) {
            var kept = items
            kept[index] = rule.item
            // Where the file says it twice, the first counts.
            for other in rules.indices.reversed()
            where other > index && rules[other].isForSameReaders(as: rule) { kept.remove(at: other) }
            return kept
        }
        let index: Int?
        if rule.isForAll {
            index = nil
        } else if rule.outcome == .deny {
            index = rules.firstIndex { $0.outcome != .deny || $0.isForAll }
        } else {
            index = rules.firstIndex(where: \.isForAll)
        }
        var all = items
        all.insert(rule.item, at: index ?? items.count)
        return all
    }

    /// The rules of a place without those for the readers of one; one that is for all readers stands for every rule.
    /// - Throws: `.value` for rules that cannot be read, unless all go.
    public static func removing(
        readersOf rule: AccessRule, from items: [AccessSection.Item], at place: String
    ) throws(SettingsError) -> [AccessSection.Item] {
        if rule.isForAll { return [] }
        return zip(items, try read(items, place)).filter { !$0.1.isForSameReaders(as: rule) }.map(\.0)
    }

    private static func read(
        _ items: [AccessSection.Item], _ place: String
    ) throws(SettingsError) -> [AccessRule] {
        var rules: [AccessRule] = []
        for item in items {
            do throws(RuleObjection) {
                rules.append(try AccessRule(key: item.key, text: item.value))
            } catch {
                throw SettingsError(
                    code: .value,
                    message:
                        "the rule '\(item.key) \(item.value)' of \(place) cannot be read: \(error.message)")
            }
        }
        return rules
    }
}
