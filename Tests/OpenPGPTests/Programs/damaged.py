"""Writes OpenPGP messages that gpg 2.2 does not write, or not so: authenticated encryption, and what is broken inside.

Usage: damaged.py MESSAGE ALGORITHM:KEY FOLDER

MESSAGE is one that gpg wrote; what is written has its first packet, so that the same secret key decrypts it, and uses its
session key (AES256). Each file of FOLDER is one message: good-* is whole, the others are not.
"""
import ctypes, hashlib, os, sys, zlib

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


def flipped(message, at):
    copy = bytearray(message)
    copy[at] ^= 1
    return bytes(copy)


session = first_packet(open(sys.argv[1], "rb").read())
key = bytes.fromhex(sys.argv[2].split(":")[1])
short, long = literal(b"hello\n"), literal(bytes(range(256)) * 300)
deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
packed = deflate.compress(literal(os.urandom(3000))) + deflate.flush()
files = {
    "good-authenticated": authenticated(short, 0),
    "good-authenticated-long": authenticated(long, 6),
    "good-protected": protected(short),
    "good-empty": protected(literal(b"")),
    "good-nothing-inside": protected(b""),
    "cut-zip": protected(packet(8, b"\1" + packed[:1000])),
    "two-texts": protected(short + short),
    "garbage": protected(bytes(50)),
    "text-and-garbage": protected(short + bytes(9)),
    "cut-text": protected(b"\xcb\x7fb\0\0\0\0\0abc"),
}
for name, inner, chunk in ("short", short, 0), ("long", long, 6), ("one-chunk", long, 16):
    whole = authenticated(inner, chunk)
    start = len(session) + 30
    for part in range(0, 10):
        files[f"{name}-flipped-{part}"] = flipped(whole, start + (len(whole) - 1 - start) * part // 9)
    files[f"{name}-last-tag"] = flipped(whole, -9)
for name, message in files.items():
    with open(os.path.join(sys.argv[3], name), "wb") as file:
        file.write(message)
