import Fuse
import SystemPackage
import Testing

@testable import Mount

@Suite struct TreeTests {
    /// The kernel counts lookups in 64 bits: a mount that lives long gets beyond 32.
    @Test func lookupsAreCountedBeyond32Bits() throws {
        let tree = Tree()
        let node = tree.insert(.directory, name: Name("a"), backing: Name("a"), in: tree.root)
        node.record.lookups = UInt64(UInt32.max)
        #expect(tree.countLookup(of: node))
        tree.forget(node.inode, count: 1)
        #expect(try tree.node(node.inode) === node)
        tree.forget(node.inode, count: UInt64(UInt32.max))
        #expect(throws: Errno.staleNFSFileHandle) { try tree.node(node.inode) }
        #expect(!tree.countLookup(of: node), "what the kernel has forgotten is not given to it again")
    }
}
