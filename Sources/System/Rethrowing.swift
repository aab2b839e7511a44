/// Puts a cause under a sentence: what the work throws becomes the error that `failure` makes of it.
public func rethrowing<Value, Cause: Error, Failure: Error>(
    _ work: @autoclosure () throws(Cause) -> Value, _ failure: (Cause) -> Failure
) throws(Failure) -> Value {
    do throws(Cause) { return try work() } catch { throw failure(error) }
}
