/// JSON as it came, without a type that would be lenient about it.
indirect enum JSON: Decodable {
    case object([String: JSON])
    case array([JSON])
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let object = try? container.decode([String: JSON].self) {
            self = .object(object)
        } else if let array = try? container.decode([JSON].self) {
            self = .array(array)
        } else {
            self = .other
        }
    }

    var keys: [String] {
        if case .object(let object) = self { object.keys.sorted() } else { [] }
    }
}
