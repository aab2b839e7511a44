/// The options of pass that the parser has no form for: those whose value may be left out, such as `--clip` and `--clip=2`.
enum PassOptions {
    /// The arguments, with such a value as an option of its own: `-c2` becomes `--clip --line 2`.
    static func rewritten(_ arguments: [String]) -> [String] {
        guard arguments.first == "show" else { return arguments }
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return arguments[..<end].flatMap(rewritten) + arguments[end...]
    }

    private static func rewritten(_ argument: String) -> [String] {
        for (option, starts) in [("--clip", ["--clip=", "-c"]), ("--qr", ["--qrcode=", "--qr=", "-q"])] {
            for start in starts where argument.hasPrefix(start) {
                let number = argument.dropFirst(start.count)
                if !number.isEmpty, number.allSatisfy({ $0.isASCII && $0.isNumber }) {
                    return [option, "--line", String(number)]
                }
            }
        }
        return [argument]
    }
}
