import SystemPackage
import TestKit
import Testing

/// Where symbolic links lead, in the mount and for pass.
@Suite struct LinkTests {
    /// Holds:
    /// - A symbolic link to a secret tells the name by which the secret is shown, and is stored so that pass follows it.
    @Test(.slow) func aLinkLeadsToItsSecret() throws {
        try Mounted.with { mounted in
            for name in ["n", "f", "s"] { try mounted.store.insert("k/\(name)", "secret \(name)") }
            let texts = try mounted.bash(
                """
                # Beside a plain file n and a folder f the secrets are shown as n.gpg and f.gpg.
                cd $S/k; echo plain >n; mkdir f; for x in n f s; do ln -s $x.gpg l$x.gpg; done
                ln -s f.gpg l.gpg; mkdir l
                cd $M/k; cat ln lf ls l.gpg; echo; readlink ln lf ls l.gpg
                ln -s n.gpg mn; ln -s f.gpg mf; ln -s s ms; ln -s f folder; ln -s f folder.gpg; ln -s f.gpg mf.gpg
                cat mn mf ms mf.gpg; echo; readlink mn mf ms folder folder.gpg mf.gpg
                """)
            #expect(
                texts == "secret nsecret fsecret ssecret f\nn.gpg\nf.gpg\ns\nf.gpg\n"
                    + "secret nsecret fsecret ssecret f\nn.gpg\nf.gpg\ns\nf\nf\nf.gpg\n")
            try mounted.waitUntilCommitted()
            for name in ["mn", "mf", "ms", "mf.gpg"] {
                let target = name.dropFirst().prefix(1)
                #expect(try mounted.show("k/\(name)") == "secret \(target)", "\(name)")
            }
        }
    }

    /// Holds:
    /// - A symbolic link that is made before the secret that it names is stored as a link to a secret once there is one.
    @Test(.slow) func aLinkMayComeBeforeItsSecret() throws {
        try Mounted.with { mounted in
            try mounted.bash(
                """
                mkdir k d e away in; echo in d >d/z; mkdir from; echo in e >from/z
                ln -s z k/a; ln -s a k/b; ln -s ../k/b d/c; ln -s b k/b2; echo saved >k/z
                ln -s y k/y1; mv d/z k/y
                ln -s ../e/z k/e1; rmdir e; mv from e
                ln -s w k/x; ln -s y k/w
                ln -s q k/q1; mv k/q1 away/; echo moved >away/q
                ln -s q2 k/m; mv k/m away/m; mv away/q away/q2
                ln -s t in/u; mv in in2; echo "folder moved" >in2/t
                ln -s nothing k/n; ln -s folder k/f; mkdir k/folder; rm k/n; echo secret >k/nothing
                ln -s o.gpg k/o1; mkdir k/o; echo "full name" >k/o.gpg; cat k/o1
                """)
            try mounted.waitUntilCommitted()
            let links = [
                "k/a": "saved", "k/b": "saved", "k/b2": "saved", "d/c": "saved", "k/y1": "in d",
                "k/e1": "in e",
                "k/x": "in d", "k/w": "in d", "away/m": "moved", "in2/u": "folder moved", "k/o1": "full name",
            ]
            for (name, text) in links {
                #expect(try mounted.read(name) == text + "\n", "\(name)")
                #expect(try mounted.show(name) == text + "\n", "\(name)")
            }
            let told = try mounted.bash("readlink k/a k/b d/c k/e1 away/m k/f away/q1 in2/u k/o1")
            #expect(told == "z\na\n../k/b\n../e/z\nq2\nfolder\nq\nt\no.gpg\n")
            #expect(
                try mounted.names(in: "k") == [
                    "a", "b", "b2", "e1", "f", "folder", "nothing", "o", "o.gpg", "o1", "w", "x", "y", "y1",
                    "z",
                ])
            #expect(try mounted.store.git("status", "--porcelain") == "")
        }
    }
}
