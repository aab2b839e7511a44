"""Writes OpenPGP messages that gpg 2.2 does not write, or not so: authenticated encryption, and what is broken, inside the
encryption or around it.

Usage: damaged.py MESSAGE ALGORITHM:KEY FOLDER

MESSAGE is one that gpg wrote; what is written has its first packet, so that the same secret key decrypts it, and uses its
session key (AES256). Each file of FOLDER is one message: good-* is whole, the others are not.
"""
import base64, bz2, ctypes, hashlib, os, sys, zlib

crypt = ctypes.CDLL("libgcrypt.so.20")
crypt.gcry_check_version(None)
AES256, CFB, OCB, FINALIZE = 9, 2, 11, 5


def done(code):
    assert code == 0, code


def encrypt(mode, key, nonce, plain, data=None):
    """The ciphertext, and the tag where there is associated data."""
    handle = ctypes.c_void_p()
    done(crypt.gcry_cipher_open(ctypes.byref(handle), AES256, mode, 0))
    done(crypt.gcry_cipher_setkey(handle, key, len(key)))
    done(crypt.gcry_cipher_setiv(handle, nonce, len(nonce)))
    if data is not None:
        done(crypt.gcry_cipher_authenticate(handle, data, len(data)))
        done(crypt.gcry_cipher_ctl(handle, FINALIZE, None, ctypes.c_size_t(0)))
    out, tag = ctypes.create_string_buffer(len(plain) + 1), ctypes.create_string_buffer(16)
    done(crypt.gcry_cipher_encrypt(handle, out, len(plain), plain, len(plain)))
    if data is not None:
        done(crypt.gcry_cipher_gettag(handle, tag, 16))
    crypt.gcry_cipher_close(handle)
    return out.raw[: len(plain)], tag.raw


def packet(tag, body):
    length = bytes([len(body)]) if len(body) < 192 else b"\xff" + len(body).to_bytes(4, "big")
    return bytes([0xC0 | tag]) + length + body


def partial(tag, body, last=True):
    """In parts of 512 octets (RFC 4880, 4.2.2.4), with or without the last one, whose length is known."""
    out = bytes([0xC0 | tag])
    while len(body) >= 512:
        out, body = out + b"\xe9" + body[:512], body[512:]
    if not last:
        return out
    return out + (bytes([len(body)]) if len(body) < 192 else bytes([192 + (len(body) - 192 >> 8), len(body) - 192 & 255])) + body


def to_the_end(tag, body):
    """With a length that is not told (RFC 4880, 4.2.1)."""
    return bytes([0x83 | tag << 2]) + body


def first_packet(message):
    """Its session key's packet, which gpg writes with a length of the old format."""
    octets = 1 << (message[0] & 3)
    return message[: 1 + octets + int.from_bytes(message[1 : 1 + octets], "big")]


def authenticated(inner, chunk):
    """Tag 20: chunks of 2 ** (chunk + 6) octets, each with its tag, and one over all (draft-koch-openpgp-crypto-refresh)."""
    start, head, size = os.urandom(15), bytes([1, AES256, 2, chunk]), 1 << (chunk + 6)
    out, count = b"", 0
    nonce = lambda: (int.from_bytes(start, "big") ^ count).to_bytes(15, "big")
    data = lambda: b"\xd4" + head + count.to_bytes(8, "big")
    while count * size < len(inner):
        text, tag = encrypt(OCB, key, nonce(), inner[count * size : (count + 1) * size], data())
        out += text + tag
        count += 1
    _, tag = encrypt(OCB, key, nonce(), b"", data() + len(inner).to_bytes(8, "big"))
    return session + packet(20, head + start + out + tag)


def protected(inner):
    """Tag 18: with a modification detection code."""
    prefix = os.urandom(16)
    body = prefix + prefix[-2:] + inner + b"\xd3\x14"
    text, _ = encrypt(CFB, key, bytes(16), body + hashlib.sha1(body).digest())
    return session + packet(18, b"\x01" + text)


def literal(data):
    return packet(11, b"b\0\0\0\0\0" + data)


def deflated(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def checksum(data):
    """RFC 4880, 6.1."""
    sum = 0xB704CE
    for octet in data:
        sum ^= octet << 16
        for _ in range(8):
            sum = sum << 1 ^ (0x1864CFB if sum & 0x800000 else 0)
    return sum.to_bytes(3, "big")


def armored(data, sum=None, end=b"-----END PGP MESSAGE-----\n"):
    digits = base64.b64encode(data)
    lines = b"".join(digits[at : at + 64] + b"\n" for at in range(0, len(digits), 64))
    last = b"" if sum == b"" else b"=" + base64.b64encode(sum or checksum(data)) + b"\n"
    return b"-----BEGIN PGP MESSAGE-----\n\n" + lines + last + end


def flipped(message, at):
    copy = bytearray(message)
    copy[at] ^= 1
    return bytes(copy)


session = first_packet(open(sys.argv[1], "rb").read())
key = bytes.fromhex(sys.argv[2].split(":")[1])
short, long = literal(b"hello\n"), literal(bytes(range(256)) * 300)
text = os.urandom(3000)
body = b"b\0\0\0\0\0" + text
packed, squeezed, ground = deflated(literal(text)), zlib.compress(literal(text)), bz2.compress(literal(text))
whole = protected(literal(text))
cut_by_partial = partial(11, body, last=False)
files = {
    "good-authenticated": authenticated(short, 0),
    "good-authenticated-long": authenticated(long, 6),
    "good-protected": protected(short),
    "good-empty": protected(literal(b"")),
    "good-nothing-inside": protected(b""),
    "two-texts": protected(short + short),
    "garbage": protected(bytes(50)),
    "text-and-garbage": protected(short + bytes(9)),
    "text-and-user-id": protected(short + packet(13, b"hello")),
    "cut-text": protected(b"\xcb\x7fb\0\0\0\0\0abc"),
    "cut-header": protected(b"\xcb\xff\0\0"),
    "cut-before-text": protected(packet(11, b"b\0\0")),
    # The parts of a text: all, without the last, and less.
    "good-parts": protected(partial(11, body)),
    "good-parts-empty-last": protected(partial(11, body[:1024])),
    "good-to-the-end": protected(to_the_end(11, body)),
    "parts-without-last": protected(cut_by_partial),
    "parts-without-last-authenticated": authenticated(cut_by_partial, 6),
    "parts-last-cut": protected(partial(11, body)[:-5]),
    "parts-second-cut": protected(partial(11, body)[:800]),
    "parts-first-cut": protected(partial(11, body)[:20]),
    "parts-only-a-length": protected(partial(11, body)[:2]),
    "two-parted-texts": protected(partial(11, body) * 2),
    # Compressed data that ends early, within its stream and within what was compressed.
    "good-zip": protected(packet(8, b"\1" + packed)),
    "good-zip-and-more": protected(packet(8, b"\1" + packed + b"more")),
    "good-zlib": protected(packet(8, b"\2" + squeezed)),
    "good-zlib-parts": protected(partial(8, b"\2" + squeezed)),
    "good-zlib-to-the-end": protected(to_the_end(8, b"\2" + squeezed)),
    "good-zlib-twice": protected(packet(8, b"\2" + zlib.compress(packet(8, b"\2" + squeezed)))),
    # gpg has read ahead when it comes to the text behind.
    "good-zlib-and-text": protected(packet(8, b"\2" + squeezed) + short),
    # Only the sum at the end is missing, which gpg does not miss.
    "good-zlib-without-sum": protected(packet(8, b"\2" + squeezed[:-4])),
    "good-bzip2": protected(packet(8, b"\3" + ground)),
    "good-uncompressed": protected(packet(8, b"\0" + literal(text))),
    "zip-cut": protected(packet(8, b"\1" + packed[:1000])),
    "zip-text-cut": protected(packet(8, b"\1" + deflated(literal(text)[:-50]))),
    "zip-parts-without-last": protected(packet(8, b"\1" + deflated(cut_by_partial))),
    "zip-of-nothing": protected(packet(8, b"\1" + deflated(b""))),
    "zip-two-texts": protected(packet(8, b"\1" + deflated(short + short))),
    "zlib-cut": protected(packet(8, b"\2" + squeezed[:-900])),
    "zlib-cut-to-the-end": protected(to_the_end(8, b"\2" + squeezed[:-900])),
    "zlib-parts-without-last": protected(partial(8, b"\2" + squeezed, last=False)),
    "zlib-bad-sum": protected(packet(8, b"\2" + flipped(squeezed, -1))),
    "bzip2-cut": protected(packet(8, b"\3" + ground[:-900])),
    "bzip2-cut-by-one": protected(packet(8, b"\3" + ground[:-1])),
    "bzip2-cut-in-second-block": protected(packet(8, b"\3" + bz2.compress(literal(os.urandom(200_000)), 1)[:-50_000])),
    "bzip2-flipped": protected(packet(8, b"\3" + flipped(ground, 200))),
    "bzip2-of-nothing": protected(packet(8, b"\3")),
    "unknown-compression": protected(packet(8, b"\x09" + literal(text))),
    # Another message inside: one for our key, and ones that gpg would ask a person for a passphrase for (RFC 4880, 5.3).
    "good-message-inside": protected(protected(short)),
    "asks-passphrase": protected(packet(3, b"\x04\x09\x03\x08saltsalt\x60") + protected(short)[len(session) :]),
    "asks-passphrase-authenticated": authenticated(
        packet(3, b"\x04\x09\x03\x08saltsalt\x60") + protected(short)[len(session) :], 6),
    # Around the encryption.
    "cut": whole[:-1],
    "cut-check": whole[:-25],
    "and-an-octet": whole + b"\0",
    "and-a-text": whole + short,
    "twice": whole * 2,
    "good-armor-without-sum": armored(whole, sum=b""),
}
for name, message in ("small", protected(short)), ("", whole), ("large", protected(literal(bytes(100_000)))):
    files[f"good-armor-{name}"] = armored(message)
    files[f"good-armor-without-end-{name}"] = armored(message, end=b"")
    files[f"good-armor-and-more-{name}"] = armored(message) + b"more\n"
    files[f"armor-bad-sum-{name}"] = armored(message, sum=b"\0\0\1")
    files[f"armor-sum-cut-{name}"] = armored(message, end=b"")[:-3]
    files[f"armor-cut-{name}"] = armored(message)[:-100]
    files[f"armor-bad-digit-{name}"] = armored(message)[:60] + b"!" + armored(message)[60:]
    files[f"armor-twice-{name}"] = armored(message) * 2
for name, inner, chunk in ("short", short, 0), ("long", long, 6), ("one-chunk", long, 16):
    message = authenticated(inner, chunk)
    start = len(session) + 30
    for part in range(0, 10):
        files[f"{name}-flipped-{part}"] = flipped(message, start + (len(message) - 1 - start) * part // 9)
    files[f"{name}-last-tag"] = flipped(message, -9)
for name, message in files.items():
    with open(os.path.join(sys.argv[3], name), "wb") as file:
        file.write(message)
