// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6 language mode (the tools version implies it), warnings are errors.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

/// A part of the map in `docs/design.md`: a library target and its tests.
/// - Parameter programs: scripts beside the tests, which they run where they lie.
func part(
    _ name: String, _ dependencies: [Target.Dependency], tests: [Target.Dependency] = [],
    programs: [String] = []
) -> [Target] {
    [
        .target(name: name, dependencies: dependencies, swiftSettings: strict),
        .testTarget(
            name: "\(name)Tests", dependencies: [.byName(name: name)] + dependencies + tests,
            exclude: programs, swiftSettings: strict),
    ]
}

let package = Package(
    name: "passdir",
    dependencies: [
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .systemLibrary(name: "CGPGME", pkgConfig: "gpgme", providers: [.apt(["libgpgme-dev"])]),
        .systemLibrary(name: "CGit", pkgConfig: "libgit2", providers: [.apt(["libgit2-dev"])]),
        .systemLibrary(name: "CGcrypt", pkgConfig: "libgcrypt", providers: [.apt(["libgcrypt20-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CSecret", pkgConfig: "libsecret-1", providers: [.apt(["libsecret-1-dev"])]),
        .systemLibrary(name: "CGio", pkgConfig: "gio-unix-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CLinux"),
    ]
        + part("System", ["CGcrypt", "CLinux", systemPackage])
        + part("Fuse", ["CFuse", "System", systemPackage])
        + part(
            "OpenPGP", ["CGcrypt", "CGPGME", "CLinux", "CZlib", "System", systemPackage],
            tests: ["TestKit"], programs: ["Programs"])
        + part("Git", ["CGcrypt", "CGit", "CLinux", "System", systemPackage], tests: ["TestKit"])
        + part("Contents", ["CGcrypt", "System", systemPackage])
        + part("Settings", ["CSecret", "Git", "OpenPGP", "System", systemPackage])
        + part(
            "Stores",
            [
                "CLinux", "OpenPGP", "Git", "Settings", "System", systemPackage,
                .product(name: "GRDB", package: "GRDB.swift"),
            ], tests: ["TestKit"])
        + part(
            "Access",
            [
                "CLinux", "OpenPGP", "Settings", "System", systemPackage,
                .product(name: "GRDB", package: "GRDB.swift"),
            ], tests: ["TestKit"])
        + part(
            "Mount", ["Access", "Contents", "Fuse", "OpenPGP", "Stores", "System", systemPackage],
            tests: ["Settings", "Sync", "TestKit"])
        + part(
            "Sync",
            [
                "CLinux", "Git", "OpenPGP", "Stores", "System", systemPackage, logging,
                .product(name: "OrderedCollections", package: "swift-collections"),
            ], tests: ["TestKit"])
        + part(
            "Daemon",
            [
                "Access", "CGio", "CLinux", "CQREncode", "Contents", "Fuse", "Git", "Mount", "OpenPGP",
                "Settings", "Stores", "Sync",
                "System",
                systemPackage, logging,
            ],
            tests: ["TestKit"])
        + [
            .executableTarget(
                name: "passdir",
                dependencies: [
                    "Access", "Contents", "Daemon", "Git", "OpenPGP", "Settings", "Stores", "Sync", "System",
                    systemPackage, logging,
                    .product(name: "ArgumentParser", package: "swift-argument-parser"),
                ],
                swiftSettings: strict),
            .target(
                name: "TestKit", dependencies: ["CLinux", systemPackage], path: "Tests/TestKit",
                swiftSettings: strict),
            .testTarget(
                name: "SharingTests", dependencies: ["TestKit", systemPackage], swiftSettings: strict),
            .testTarget(
                name: "EndToEndTests", dependencies: ["TestKit", systemPackage], swiftSettings: strict),
            .testTarget(
                name: "FileSystemTests", dependencies: ["TestKit", systemPackage], exclude: ["Programs"],
                swiftSettings: strict),
            .testTarget(
                name: "HostileTests",
                dependencies: [
                    "CGit", "Daemon", "Git", "OpenPGP", "Settings", "Stores", "Sync", "System", "TestKit",
                    systemPackage, logging,
                ],
                swiftSettings: strict),
            .testTarget(
                name: "TranscriptTests", dependencies: ["TestKit", systemPackage],
                exclude: ["Transcripts", "README.md"], swiftSettings: strict),
        ]
)
