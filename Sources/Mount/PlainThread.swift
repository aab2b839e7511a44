import Glibc

/// Starts a thread of its own for work that may block for long; Swift's and Dispatch's threads must not.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Body(body))
    let result = pthread_create(
        &thread, nil,
        { argument in
            Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
            return nil
        }, box.toOpaque())
    guard result == 0 else {
        // No thread to be had: the caller's waits, which is slow but right.
        box.takeRetainedValue().run()
        return
    }
    pthread_detach(thread)
}
