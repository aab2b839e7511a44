import Glibc

/// Starts a thread of its own for work that may block for long; Swift's and Dispatch's threads must not.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    defer { pthread_attr_destroy(&attributes) }
    let box = Unmanaged.passRetained(Body(body))
    let result = pthread_create(
        &thread, &attributes,
        { argument in
            Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
            return nil
        }, box.toOpaque())
    guard result == 0 else {
        // No thread to be had: the caller's waits, which is slow but right.
        box.takeRetainedValue().run()
        return
    }
}
