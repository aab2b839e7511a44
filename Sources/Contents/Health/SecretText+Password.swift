extension SecretText {
    /// Where the password is that is to be judged: the first line. Nil where that is empty or stands for no password: an
    /// otpauth URI, or the first line of a key or certificate, which is the same in all of them.
    public func password(in bytes: UnsafeRawBufferPointer) -> Range<Int>? {
        let isPassword =
            !firstLine.isEmpty && !bytes.begins(firstLine, with: "-----BEGIN ")
            && !(oneTimeURI.map { firstLine.contains($0.lowerBound) } ?? false)
        return isPassword ? firstLine : nil
    }
}
