# Sourced by the scripts beside it: checks for Swift, installs what Debian has. Changes nothing else.
# shellcheck shell=bash

# What building and running passdir needs, by Debian's names.
# shellcheck disable=SC2034  # read by the scripts that source this
readonly build_packages=(pkg-config libfuse3-dev fuse3 libgit2-dev libgpgme-dev libgcrypt20-dev zlib1g-dev libsecret-1-dev libglib2.0-dev libqrencode-dev libsqlite3-dev gnupg git)

# The programs that the tests save and read with.
# shellcheck disable=SC2034
readonly editing_packages=(
    ed emacs-nox file fish less micro nano neovim patch perl python3 rsync sqlite3 tmux unzip vim zip zsh
)

# What the tests make disks with that do not answer.
# shellcheck disable=SC2034
readonly disk_packages=(bindfs)

# The servers and keyrings that the tests talk to on loopback.
# shellcheck disable=SC2034
readonly server_packages=(openssh-server openssh-client nginx fcgiwrap openssl gnome-keyring dbus libsecret-tools libglib2.0-bin python3-dbusmock)

# The programs that one-time codes and rendered files are compared with.
# shellcheck disable=SC2034
readonly contents_packages=(oathtool python3 python3-dotenv python3-yaml)

# The displays whose clipboards the tests use, a picker, and what makes and reads QR codes.
# shellcheck disable=SC2034
readonly desktop_packages=(xvfb xclip xsel wl-clipboard sway zbar-tools qrencode fzf)

# What stores and their secrets are made with, beside gpg and git.
# shellcheck disable=SC2034
readonly zoo_packages=(pass sq)

# fail SENTENCE: ends the script.
fail() {
    printf '%s: %s\n' "scripts/$(basename "$0")" "$1" >&2
    exit 1
}

# require_swift: ends the script unless Swift is as new as .swift-version says.
require_swift() {
    local wanted found
    wanted=$(<.swift-version)
    # "Swift version 6.3.1 (swift-6.3.1-RELEASE)", on some platforms after "swift-driver version: ...".
    found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1) || true
    if [[ -n $found && $(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1) == "$wanted" ]]; then
        return
    fi
    cat >&2 <<END
passdir needs Swift $wanted or newer; found: ${found:-none}.
To get it, for your user alone, without a package manager:
    curl -O https://download.swift.org/swiftly/linux/swiftly-\$(uname -m).tar.gz
    tar zxf swiftly-\$(uname -m).tar.gz && ./swiftly init && swiftly install $wanted
Other ways: https://www.swift.org/install/linux/
END
    exit 1
}

# use_compiler_for_tests: has `swift build` and `swift test` compile with scripts/swiftc-for-tests.
use_compiler_for_tests() {
    local folder=$PWD/.build/compiler resources
    PASSDIR_SWIFTC=$(command -v swiftc)
    resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
    # SwiftPM takes libIndexStore from the folder lib beside that of the compiler.
    mkdir -p "$folder/bin"
    ln -sfn "$(dirname "$resources")" "$folder/lib"
    cmp -s scripts/swiftc-for-tests "$folder/bin/swiftc" || cp scripts/swiftc-for-tests "$folder/bin/swiftc"
    # Package.swift is compiled by the real one.
    export PASSDIR_SWIFTC SWIFT_EXEC_MANIFEST=$PASSDIR_SWIFTC SWIFT_EXEC=$folder/bin/swiftc
}

# require_packages NAME...: installs the Debian packages that are missing, as root or with sudo.
require_packages() {
    local missing=() package as_root=()
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not Debian; these packages, or what they are called here, are needed: $*" >&2
        return
    fi
    for package in "$@"; do
        if [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) != "install ok installed" ]]; then
            missing+=("$package")
        fi
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        # Without a terminal there is nobody to type a password.
        if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
            as_root=(sudo)
        else
            fail "these packages are missing: ${missing[*]}; install them as root: apt-get install ${missing[*]}"
        fi
    fi
    echo "Installing ${missing[*]}"
    install_packages "${as_root[@]}"
}

# install_packages [sudo]: for require_packages, whose `missing` it reads.
install_packages() {
    local apt=("$@" env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
    "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null && return
    # The lists of packages may be old, or not be there at all.
    "${apt[@]}" update </dev/null
    "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null
}
