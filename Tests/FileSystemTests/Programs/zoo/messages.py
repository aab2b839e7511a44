"""OpenPGP messages as gpg and sq make them, and as they are when something damaged them."""

import os
import pty
import subprocess

from entry import secret, write

# A line of text that compresses, and bytes that do not.
TEXT = b"correct horse battery staple\nuser: alice\nurl: https://example.org/login\n" * 3
NOISE = bytes(range(256)) * 5 + b"\r\n\0\xff"

PASSWORD = "zoo"


def run(words, data=b"", **options):
    """What a program prints; it must succeed."""
    result = subprocess.run(words, input=data, capture_output=True, **options)
    if result.returncode:
        raise SystemExit(f"{words}: {result.stderr.decode(errors='replace')}")
    return result.stdout


def gpg(*options, data=b""):
    return run(["gpg", "--batch", "--quiet", "--yes", "--no-tty", "--trust-model", "always", *options], data)


def sealed(*options, data=TEXT, recipient="a@example.org"):
    """Makes what gpg writes for one recipient."""
    return lambda path: write(path, gpg("-e", "-r", recipient, *options, data=data))


def loopback(*options, data=TEXT):
    """Makes what gpg writes when it is told a password."""
    given = ["--pinentry-mode", "loopback", "--passphrase", PASSWORD]
    return lambda path: write(path, gpg(*given, *options, data=data))


def sequoia(*options, data=TEXT, cert="a.cert"):
    """Makes what sq writes; the certificates lie in the home."""
    return lambda path: write(path, run(["sq", "encrypt", "--recipient-cert", home(cert), *options], data))


def sequoia_password(path):
    """Makes what sq writes for a password, which it asks for in a terminal only."""
    plain = home("plain")
    write(plain, TEXT)
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("sq", ["sq", "encrypt", "-B", "-s", "-o", path, plain])
    try:
        while said := os.read(terminal, 1000):
            if said.rstrip().endswith(b":"):
                os.write(terminal, PASSWORD.encode() + b"\n")
    except OSError:
        # The other end is closed.
        pass
    if os.waitpid(child, 0)[1]:
        raise SystemExit("sq makes no message for a password")


def home(name):
    return os.path.join(os.environ["HOME"], name)


def changed(make, change):
    """Makes what another makes, and changes its bytes."""
    def make_changed(path):
        make(path)
        with open(path, "rb") as file:
            data = file.read()
        write(path, change(data))
    return make_changed


CIPHERS = [
    "AES", "AES192", "AES256", "3DES", "CAST5", "BLOWFISH", "TWOFISH", "CAMELLIA128", "CAMELLIA192", "CAMELLIA256", "IDEA",
]
COMPRESSIONS = ["uncompressed", "zip", "zlib", "bzip2"]
KEYS = ["rsa2048", "dsa2048", "nistp256", "nistp384", "nistp521", "brainpoolP256r1", "brainpoolP512r1", "secp256k1"]
# Where the length of a packet takes another byte, a chunk ends, or a page does.
LENGTHS = [0, 1, 150, 191, 192, 500, 511, 512, 513, 4096, 8191, 8383, 8384, 65535, 65536, 200_000, 1_048_577]


def sound():
    """Messages that gpg decrypts."""
    for cipher in CIPHERS:
        for compression in COMPRESSIONS:
            options = ["--cipher-algo", cipher, "--compress-algo", compression]
            yield secret(f"gpg {cipher} {compression}", f"c/{cipher}-{compression}", sealed(*options), TEXT)
    for compression in COMPRESSIONS:
        options = ["--armor", "--compress-algo", compression]
        yield secret(f"gpg --armor {compression}", f"c/armor-{compression}", sealed(*options), TEXT)
        yield secret(
            f"gpg {compression} of bytes", f"c/bytes-{compression}", sealed(*options[1:], data=NOISE), NOISE)
    for length in LENGTHS:
        data = (TEXT * (length // len(TEXT) + 1))[:length]
        options = ["--compress-algo", "none", "--no-encrypt-to"]
        yield secret(f"as pass, {length} bytes", f"l/pass-{length}", sealed(*options, data=data), data)
    for length in [0, 512, 65536]:
        data = (TEXT * (length // len(TEXT) + 1))[:length]
        yield secret(f"gpg as it comes, {length} bytes", f"l/gpg-{length}", sealed(data=data), data)
        yield secret(f"sq as it comes, {length} bytes", f"l/sq-{length}", sequoia("-B", data=data), data)
    for compression in ["none", "pad", "zip", "zlib", "bzip2"]:
        yield secret(f"sq {compression}", f"q/{compression}", sequoia("-B", "--compression", compression), TEXT)
        yield secret(f"sq {compression}, armor", f"q/armor-{compression}", sequoia("--compression", compression), TEXT)
    yield secret("sq, signed", "q/signed", sequoia("-B", "--signer-key", home("sq.key")), TEXT)
    yield secret("sq to a key of sq", "q/key", sequoia("-B", cert="sq.cert"), TEXT)
    yield secret("sq to two keys", "q/two", sequoia("-B", "--recipient-cert", home("foreign.cert")), TEXT)
    yield secret("sq with a password", "q/password", sequoia_password, TEXT)
    for key in KEYS:
        yield secret(f"gpg to {key}", f"k/{key}", sealed(recipient=f"{key}@example.org"), TEXT)
    yield from of_gpg()


def of_gpg():
    """What else gpg can be asked for."""
    foreign = ["-r", "foreign@example.org"]
    plain = ["--compress-algo", "none"]
    for name, options in {
        "two recipients": foreign,
        "hidden": ["--throw-keyids"],
        "hidden among others": ["--throw-keyids", *foreign, "-r", "rsa2048@example.org"],
        "hidden, others named": [*foreign, "-R", "nistp256@example.org"],
        "hidden, armor": ["--throw-keyids", "--armor"],
        "set-filename": [*plain, "--set-filename", "mail.txt"],
        "set-filename, long": [*plain, "--set-filename", "n" * 200],
        "set-filename, compressed": ["--set-filename", "mail.txt"],
        "for your eyes only": [*plain, "--for-your-eyes-only"],
        "textmode": [*plain, "--textmode"],
        "signed": ["-s", "-u", "a@example.org", *plain],
        "signed, compressed": ["-s", "-u", "a@example.org"],
        "signed, armor": ["-s", "-u", "a@example.org", "--armor"],
        "signed by two": ["-s", "-u", "a@example.org", "-u", "rsa2048@example.org", *plain],
        "rfc4880": ["--rfc4880"],
        "pgp7": ["--pgp7"],
        "comment": ["--armor", "--comment", "of somebody", "--emit-version"],
    }.items():
        yield secret(f"gpg {name}", "o/" + name.replace(", ", "-").replace(" ", "-"), sealed(*options), TEXT)
    yield secret("gpg of a file, its name in it", "o/named", named, TEXT)
    yield secret("gpg, marker packet first", "o/marker", changed(sealed(), lambda data: b"\xca\x03PGP" + data), TEXT)
    yield secret("gpg, lines before the armor", "o/before", changed(sealed("-a"), lambda data: b"Hello,\n\n" + data), TEXT)
    yield secret("gpg, lines after the armor", "o/after", changed(sealed("-a"), lambda data: data + b"\n-- \nBye\n"), TEXT)
    yield secret("gpg, armor with CRLF", "o/crlf", changed(sealed("-a"), lambda data: data.replace(b"\n", b"\r\n")), TEXT)
    yield secret("gpg -c", "o/password", loopback("-c"), TEXT)
    yield secret("gpg -c, AES, armor", "o/password-armor", loopback("-c", "-a", "--cipher-algo", "AES"), TEXT)
    yield secret("gpg -c, simple", "o/password-simple", loopback("-c", "--s2k-mode", "1"), TEXT)
    yield secret("gpg -c -e", "o/password-or-key", loopback("-c", "-e", "-r", "a@example.org"), TEXT)
    yield secret("gpg -c -e to another", "o/password-or-foreign", loopback("-c", "-e", *foreign), TEXT)


def named(path):
    plain = home("mail.txt")
    write(plain, TEXT)
    gpg("-e", "-r", "a@example.org", "-o", path, plain)


def unsound():
    """What cannot be read, and why."""
    foreign = "A secret that none of our keys can decrypt is EACCES on open, a damaged one or one that is no OpenPGP message is EIO; either can be replaced."
    message = sealed("--compress-algo", "none")
    for name, make in {
        "to others": sealed(recipient="foreign@example.org"),
        "hidden from us": sealed("--throw-keyids", recipient="foreign@example.org"),
        "without a checksum of its content": sealed("--rfc2440"),
        "empty": lambda path: write(path, b""),
        "one byte": lambda path: write(path, b"\x85"),
        "plain text": lambda path: write(path, TEXT),
        "zeros": lambda path: write(path, bytes(3000)),
        "cut": changed(message, lambda data: data[:-10]),
        "cut in its key": changed(message, lambda data: data[:40]),
        "bit changed": changed(message, lambda data: data[:-30] + bytes([data[-30] ^ 1]) + data[-29:]),
        "bit of its key changed": changed(message, lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:]),
        "twice": changed(message, lambda data: data + data),
        "garbage after it": changed(message, lambda data: data + b"garbage"),
        "armor cut": changed(sealed("--armor"), lambda data: data[: len(data) // 2]),
        "armor changed": changed(sealed("--armor"), lambda data: data[:200] + (b"B" if data[200:201] == b"A" else b"A") + data[201:]),
        "only signed": lambda path: write(path, gpg("-s", "-u", "a@example.org", data=TEXT)),
        "clear signed": lambda path: write(path, gpg("--clearsign", "-u", "a@example.org", data=TEXT)),
        "signature": lambda path: write(path, gpg("-b", "-u", "a@example.org", data=TEXT)),
        "only packed": lambda path: write(path, gpg("--store", data=TEXT)),
        "public key": lambda path: write(path, gpg("--export", "a@example.org")),
    }.items():
        yield secret(name, "u/" + name.replace(" ", "-"), make, None, foreign)
