import ArgumentParser

/// The scripts by which shells complete our words, as the parser makes them, and what it does not know of them: a name that ends
/// with a slash is a folder, behind which typing goes on, the command may be called by an alias, commands have other names, and all take --quiet.
enum CompletionScript {
    /// A script of the parser's, with that; any other text as it is.
    static func finished(_ text: String) -> String {
        let ofBash = "complete -o filenames -F _passdir passdir"
        if text.hasPrefix("#!/bin/bash"), text.contains(ofBash) {
            return text.replacing(ofBash, with: forBash)
                .replacing(" -h --help)", with: " -q --quiet -h --help)")
                .replacing("\n_passdir() {\n", with: "\n_passdir() {\n" + otherNamesForBash)
        }
        if text.hasPrefix("#compdef passdir") {
            return text.replacing(ofZsh, with: forZsh).replacing(choiceOfZsh, with: otherNamesForZsh)
                .replacing(
                    "'(-h --help)'{",
                    with: "'(-q --quiet)'{-q,--quiet}'[Do not say what was done.]' '(-h --help)'{")
        }
        if text.contains(tokensOfFish) {
            return text.replacing(tokensOfFish, with: tokensForFish)
                .replacing(" 'h/help'", with: " 'q/quiet' 'h/help'")
                + "\n" + namesBehindOTPForFish
                + "\ncomplete -c 'passdir' -s 'q' -l 'quiet' -d 'Do not say what was done.'"
        }
        return text
    }

    /// A case of a shell for the other names of each command: `delete|remove) WORD=rm ;;`.
    private static func otherNames(of above: any ParsableCommand.Type, _ word: String) -> String {
        var cases: [String] = []
        for command in above.configuration.subcommands where !command.configuration.aliases.isEmpty {
            let names = command.configuration.aliases.joined(separator: "|")
            cases.append("\(names)) \(word)=\(command._commandName) ;;")
        }
        return cases.joined(separator: " ")
    }

    /// As `otherNames`, in the words of fish: `case delete remove; set WORD rm`.
    private static func otherNamesForFish(of above: any ParsableCommand.Type, _ word: String) -> String {
        above.configuration.subcommands.filter { !$0.configuration.aliases.isEmpty }.map { command in
            let names = command.configuration.aliases.joined(separator: " ")
            return "case \(names); set \(word) \(command._commandName)"
        }.joined(separator: "; ")
    }

    /// As `otherNames`, of commands below others: `'store delete'|'store rm') WORD=remove ;;`.
    private static func otherNamesBelow(_ word: String) -> String {
        namesBelow.map { "\($0.joined(separator: "|"))) \(word)=\($1) ;;" }.joined(separator: " ")
    }

    /// What else commands below others are called, in quotes and with the name of the one above, and their own names.
    private static var namesBelow: [(others: [String], name: String)] {
        Passdir.configuration.subcommands.flatMap { above in
            above.configuration.subcommands.filter { !$0.configuration.aliases.isEmpty }.map { command in
                (command.configuration.aliases.map { "'\(above._commandName) \($0)'" }, command._commandName)
            }
        }
    }

    /// `otp NAME` is `otp code NAME`.
    private static var codes: String {
        OTPCommand.configuration.subcommands.map { $0._commandName }.joined(separator: "|")
    }

    private static var otherNamesForBash: String {
        """
            # Commands by their own names.
            local -a COMP_WORDS=("${COMP_WORDS[@]}")
            local -i COMP_CWORD="${COMP_CWORD}" COMP_POINT="${COMP_POINT}"
            local COMP_LINE="${COMP_LINE}"
            local -r before="${COMP_WORDS[*]}"
            COMPREPLY=()
            if [[ "${COMP_CWORD}" -gt 1 ]]; then
                case "${COMP_WORDS[1]}" in
                \(otherNames(of: Passdir.self, "COMP_WORDS[1]"))
                esac
            fi
            if [[ "${COMP_CWORD}" -gt 2 ]]; then
                case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
                \(otherNamesBelow("COMP_WORDS[2]"))
                esac
            fi
            if [[ "${COMP_WORDS[1]}" == otp && "${COMP_CWORD}" -gt 1 ]]; then
                if [[ "${COMP_CWORD}" -eq 2 || ! "${COMP_WORDS[2]}" =~ ^(\(codes))$ ]]; then
                    if [[ "${COMP_CWORD}" -eq 2 && "${2}" != -* ]]; then
                        COMPREPLY=($(compgen -W '\(codes.replacing("|", with: " "))' -- "${2}"))
                    fi
                    COMP_WORDS=("${COMP_WORDS[@]:0:2}" code "${COMP_WORDS[@]:2}")
                    COMP_CWORD+=1
                fi
            fi
            if [[ "${COMP_WORDS[*]}" != "${before}" ]]; then
                COMP_LINE="${COMP_WORDS[*]:0:COMP_CWORD} ${2}"
                COMP_POINT="${#COMP_LINE}"
            fi

        """
    }

    private static let choiceOfZsh = """
            arg)
                case "${words[1]}" in
                store|
        """

    private static var otherNamesForZsh: String {
        """
            arg)
                # Commands by their own names.
                case "${words[1]}" in
                \(otherNames(of: Passdir.self, "words[1]"))
                esac
                (( CURRENT > 2 )) && case "${words[1]} ${words[2]}" in
                \(otherNamesBelow("words[2]"))
                esac
                if [[ "${words[1]}" == otp ]]; then
                    if (( CURRENT == 2 )) || [[ "${words[2]}" != (\(codes)) ]]; then
                        (( CURRENT == 2 )) && compadd -- \(codes.replacing("|", with: " ")) && ret=0
                        words=(otp code "${(@)words[2,-1]}")
                        (( CURRENT++ ))
                    fi
                fi
                case "${words[1]}" in
                store|
        """
    }

    private static let tokensOfFish = """
            if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
                commandline --tokens-raw $argv
            else
                commandline -o $argv
            end

        """

    private static var tokensForFish: String {
        let codes = codes.replacing("|", with: " ")
        return """
                # fish 3 does not tell the place of the cursor in a word of a line that it completes for an alias.
                if test "$argv" = -tC
                    string length -- "$(commandline -ct)"
                    return
                end
                set -l kind -o
                test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3; and set kind --tokens-raw
                set -l tokens (commandline $kind $argv)
                set -l before (commandline $kind -pc)
                if string match -q -- '-p*' "$argv"; and test (count $before) -gt 1
                    # Commands by their own names.
                    switch $before[2]
                        \(otherNamesForFish(of: Passdir.self, "tokens[2]"))
                    end
                    test (count $before) -gt 2; and switch "$tokens[2] $before[3]"
                        \(namesBelow.map { "case \($0.joined(separator: " ")); set tokens[3] \($1)" }.joined(separator: "; "))
                    end
                    if test "$before[2]" = otp
                        if test (count $before) -eq 2; or not contains -- "$tokens[3]" \(codes)
                            set -l rest $tokens
                            set -e rest[1..2]
                            set tokens $tokens[1..2] code $rest
                        end
                    end
                end
                test (count $tokens) -gt 0; and printf '%s\\n' $tokens

            """
    }

    private static var namesBehindOTPForFish: String {
        let isBehind = "set -l before (commandline -opc); test (count $before) -eq 2 -a \"$before[2]\" = otp"
        return "complete -c 'passdir' -n '\(isBehind)' -fa '\(codes.replacing("|", with: " "))'"
    }

    private static let forBash = """
        _passdir_words() {
            # Also of an alias or a function: its name is no program that could be asked.
            if [[ "${COMP_WORDS[0]##*/}" != passdir ]]; then
                local COMP_LINE="passdir${COMP_LINE#"${COMP_WORDS[0]}"}"
                local -i COMP_POINT="$((COMP_POINT + 7 - ${#COMP_WORDS[0]}))"
                COMP_WORDS[0]=passdir
            fi
            _passdir "$@"
            # No space behind a folder.
            if [[ "${#COMPREPLY[@]}" -eq 1 && "${COMPREPLY[0]}" == */ ]]; then
                compopt -o nospace 2>/dev/null
            fi
            # readline quotes blanks in a name, and leaves ")" and some "$" as they are.
            if [[ "${COMPREPLY[*]}" == *[^[:alnum:]._@+/\\ -]* ]]; then
                compopt +o filenames 2>/dev/null
                local -i index
                for index in "${!COMPREPLY[@]}"; do
                    printf -v "COMPREPLY[index]" %q "${COMPREPLY[index]}"
                done
            fi
        }

        complete -o filenames -F _passdir_words passdir
        """

    private static let ofZsh = """
            _describe -V '' non_empty_completions -- empty_completions
        """

    private static let forZsh = """
            # No space behind a folder.
            local -ar folders=("${(M)non_empty_completions[@]:#*/}")
            local -ar whole=("${non_empty_completions[@]:#*/}")
            (( ${#folders} )) && compadd -S '' -- "${folders[@]}"
            _describe -V '' whole -- empty_completions
        """
}
