import Access
import Contents
import Dispatch
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// A rendered file is made when it is opened: its secrets are opened for the caller one after the other, each once, as by their own
/// names, so that rules, locks and log have their say of each, and closed again once their values are copied.
extension ControlDirectory {
    /// Opens a rendered file. The wait for a template's disk and for people holds no thread of the mount.
    func openRendered(_ source: RenderedSource, _ node: Node, for caller: Caller) -> Reply<any OpenFile> {
        let reply = PendingReply<any OpenFile>()
        let job = Rendering(self, source, node, caller) { reply.give($0) }
        do throws(Errno) {
            // Another disk than any store's, which need not answer.
            try PosixThread.start(named: "template") { job.run() }
        } catch {
            job.run()
        }
        return .later(reply)
    }
}

/// One open of a rendered file.
private final class Rendering: Sendable {
    private let control: ControlDirectory
    private let source: RenderedSource
    private let node: Node
    private let caller: Caller
    private let give: @Sendable (Result<any OpenFile, Errno>) -> Void

    init(
        _ control: ControlDirectory, _ source: RenderedSource, _ node: Node, _ caller: Caller,
        _ give: @escaping @Sendable (Result<any OpenFile, Errno>) -> Void
    ) {
        (self.control, self.source, self.node) = (control, source, node)
        (self.caller, self.give) = (caller, give)
    }

    private var mount: MountState { control.mount }

    func run() {
        do throws(ValueError) {
            let file = try source.template(mountPoint: mount.options.mountPoint)
            // All are found before one is read.
            let secrets = try control.secrets(of: file.template.resolved(for: source.kind))
            let values = GatheredValues(of: secrets.map(\.store))
            control.values.add(values)
            read(secrets[...], values) { result in
                defer {
                    self.control.values.remove(values)
                    self.control.forget(secrets)
                }
                do throws(ValueError) {
                    try result.get()
                    try self.finish(file, secrets, values)
                } catch {
                    self.fail(error)
                }
            }
        } catch {
            fail(error)
        }
    }

    /// Reads what is left, then runs `body`, once: at once, or on the thread that reads the last.
    private func read(
        _ secrets: ArraySlice<ReferencedSecret>, _ values: GatheredValues,
        _ body: @escaping @Sendable (Result<Void, ValueError>) -> Void
    ) {
        guard let secret = secrets.first else { return body(.success(())) }
        @Sendable func done(_ result: Result<any OpenFile, Errno>) {
            do throws(ValueError) {
                try take(result, of: secret, values)
            } catch {
                return body(.failure(error))
            }
            read(secrets.dropFirst(), values, body)
        }
        do throws(Errno) {
            try secret.store.open(secret.node, flags: OpenFlags(rawValue: 0), for: caller).whenGiven(done)
        } catch {
            done(.failure(error))
        }
    }

    /// Copies what is wanted of a secret, and closes it.
    private func take(
        _ opened: Result<any OpenFile, Errno>, of secret: ReferencedSecret, _ values: GatheredValues
    ) throws(ValueError) {
        let file: any OpenFile
        do throws(Errno) { file = try opened.get() } catch {
            throw whyNotOpened(secret, error).naming(secret.references[0])
        }
        defer { file.close() }
        guard let open = file as? OpenSecret else { throw ValueError(.ioError) }
        for reference in secret.references {
            let value = try ValueError.of(reference) { () throws(ValueError) in
                try open.withText { (text) throws(ValueError) in
                    do throws(ContentsError) {
                        return try reference.target.part.source(
                            in: text, named: secret.name, tellsFields: false)
                    } catch {
                        throw ValueError(error)
                    }
                }
            }
            values.add(value, for: reference.target)
        }
    }

    private func whyNotOpened(_ secret: ReferencedSecret, _ errno: Errno) -> ValueError {
        let store = secret.store
        if errno == .permissionDenied, store.lock.isLocked { return .locked(store) }
        if let known = try? store.extendedAttribute(Array("user.passdir.error".utf8), of: secret.node) {
            var error = ValueError(errno, String(decoding: known, as: UTF8.self))
            error.unopened = store.tree.visiblePath(of: secret.node).map {
                UnopenedSecret(store: store, path: $0)
            }
            return error
        }
        guard errno == .permissionDenied else { return ValueError(errno, "\(secret.name): \(errno)") }
        return ValueError(errno, "the access rules refuse reading \(secret.name)")
    }

    private func finish(
        _ file: TemplateFile, _ secrets: [ReferencedSecret], _ values: GatheredValues
    ) throws(ValueError) {
        for secret in secrets { try checkUnlocked(secret) }
        let made = try values.render(file.template, for: source.kind)
        let opened = ValueFile(made, node: node, stores: values.stores, mount, among: control.values)
        // First known, then looked at: a lock finds it, or is found.
        control.values.add(opened)
        do throws(ValueError) {
            for secret in secrets { try checkUnlocked(secret) }
        } catch {
            opened.close()
            throw error
        }
        var modified = file.modified
        for secret in secrets {
            guard let time = (try? secret.store.attributes(of: secret.node))?.modificationTime else {
                continue
            }
            if (time.seconds, time.nanoseconds) > (modified.seconds, modified.nanoseconds) { modified = time }
        }
        mount.correctSize(of: node, to: opened.size)
        node.noteTold(opened.size)
        note(.success(RenderedTemplates.Made(size: opened.size, modified: modified)))
        guard made.delay > 0 else { return give(.success(opened)) }
        mount.background.asyncAfter(deadline: .now() + made.delay) { self.give(.success(opened)) }
    }

    private func checkUnlocked(_ secret: ReferencedSecret) throws(ValueError) {
        let lock = secret.store.lock
        guard lock.isLocked || lock.count != secret.lockCount else { return }
        throw ValueError.locked(secret.store).naming(secret.references[0])
    }

    private func fail(_ error: ValueError) {
        // Nothing is wrong where somebody did not want to wait.
        if error.errno != .interrupted { note(.failure(error)) }
        give(.failure(error.errno))
    }

    private func note(_ result: Result<RenderedTemplates.Made, ValueError>) {
        switch source {
        case .registered(let template): control.templates.note(result, of: template)
        case .held:
            var sentence: String?
            if case .failure(let error) = result { sentence = error.sentence }
            control.sentences.set(sentence, for: control.tree.visiblePath(of: node))
        }
    }
}

extension ValueError {
    /// A store is locked.
    fileprivate static func locked(_ store: MountedStore) -> ValueError {
        var error = ValueError(.permissionDenied, store.lockedError.message)
        error.lockedStore = store
        return error
    }
}
