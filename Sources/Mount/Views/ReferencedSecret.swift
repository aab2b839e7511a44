import Access
import Contents
import Fuse
import Stores
import System
import SystemPackage

/// A secret that a template refers to, with a lookup of its node counted.
struct ReferencedSecret: Sendable {
    let store: MountedStore
    let node: Node
    /// How often its store had been locked: a lock from then on makes what is read void.
    let lockCount: UInt64
    /// What is wanted of it, each once.
    var references: [TemplateReference]

    /// STORE/PATH.
    var name: String { store.tree.visibleText(of: node, behind: store.store.name) ?? store.store.name }
}

extension ControlDirectory {
    /// The secrets that references name, each once, in the order in which they are named. Decrypts nothing.
    /// - Throws: the sentence names the reference that leads nowhere.
    func secrets(of references: [TemplateReference]) throws(ValueError) -> [ReferencedSecret] {
        var (found, seen) = ([ReferencedSecret](), Set<TemplateReference.Target>())
        do throws(ValueError) {
            for reference in references where seen.insert(reference.target).inserted {
                let (store, node) = try ValueError.of(reference) { () throws(ValueError) in
                    try secret(reference.target)
                }
                if let index = found.firstIndex(where: { $0.node === node }) {
                    tree.forget(node.inode, count: 1)
                    found[index].references.append(reference)
                } else {
                    found.append(
                        ReferencedSecret(
                            store: store, node: node, lockCount: store.lock.count, references: [reference]))
                }
            }
        } catch {
            forget(found)
            throw error
        }
        return found
    }

    /// Why a file cannot be held, as a sentence without a full stop; nil where its secret is there. Decrypts nothing.
    func objection(toHolding file: HeldFile) -> String? {
        for reference in file.template.references {
            do throws(ValueError) {
                tree.forget(try secret(reference.target).node.inode, count: 1)
            } catch {
                return "there is no value for \(reference.text): \(error.sentence ?? "\(error.errno)")"
            }
        }
        return nil
    }

    /// Gives back the lookups of `secrets`.
    func forget(_ secrets: [ReferencedSecret]) {
        for secret in secrets { tree.forget(secret.node.inode, count: 1) }
    }

    /// The secret of a reference, links within the store followed. As for commands, a secret comes before a folder of its name, and
    /// its name may end as it does on disk.
    private func secret(
        _ target: TemplateReference.Target
    ) throws(ValueError) -> (store: MountedStore, node: Node) {
        guard let storeName = Name(target.store), FilePath(target.store).components.count == 1 else {
            throw .missing("there is no store \"\(target.store)\"")
        }
        let missing = ValueError.missing(
            "there is no secret \"\(target.path)\" in the store \"\(target.store)\"")
        var names = Array(FilePath(target.path).components)
        for _ in 0..<Self.mostLinks {
            guard !names.isEmpty, names.allSatisfy({ $0.kind == .regular }) else { throw missing }
            let (store, node, rest): (MountedStore, Node, [Name])
            do throws(Errno) {
                (store, node, rest) = try walkToSecret(names, in: storeName)
            } catch .noSuchFileOrDirectory {
                throw top.store(storeName) == nil
                    ? .missing("the mount shows no store \"\(target.store)\"") : missing
            } catch {
                throw .missing("\(target.store)/\(target.path) cannot be found: \(error)")
            }
            if node.kind == .secret, rest.isEmpty, !store.isRecipientFile(node), !store.isScratch(node) {
                return (store, node)
            }
            defer { tree.forget(node.inode, count: 1) }
            guard node.kind == .symbolicLink, let led = try? store.target(of: node) else { throw missing }
            let text = FilePath(bytes: led)
            guard !text.isAbsolute else { throw missing }
            let folder = FilePath(root: nil, names.dropLast(rest.count + 1))
            names = Array(folder.pushing(text).lexicallyNormalized().components) + rest
        }
        throw missing
    }

    private static let mostLinks = 40

    private func walkToSecret(
        _ names: [Name], in store: Name
    ) throws(Errno) -> (MountedStore, Node, [Name]) {
        let (folder, last) = (names.dropLast(), names[names.count - 1])
        do throws(Errno) {
            let found = try walk(names, in: store)
            guard found.node.kind == .directory,
                let secret = try? walk(Array(folder) + [last.appendingSuffix()], in: store)
            else { return found }
            tree.forget(found.node.inode, count: 1)
            return secret
        } catch {
            guard error == .noSuchFileOrDirectory, let bare = last.strippingSuffix() else { throw error }
            return try walk(Array(folder) + [bare], in: store)
        }
    }
}

extension ValueError {
    /// Runs `body`; what it throws tells which reference has no value.
    static func of<Value>(
        _ reference: TemplateReference, _ body: () throws(ValueError) -> Value
    ) throws(ValueError) -> Value {
        do throws(ValueError) { return try body() } catch {
            throw error.naming(reference)
        }
    }

    /// The same, told of a reference. A program that opens the file is told apart only who may not read.
    func naming(_ reference: TemplateReference) -> ValueError {
        var error = self
        error.sentence = "there is no value for \(reference.place): \(sentence ?? "\(errno)")"
        if errno != .permissionDenied, errno != .interrupted { error.errno = .ioError }
        return error
    }

    fileprivate static func missing(_ sentence: String) -> ValueError { ValueError(.ioError, sentence) }
}
