/// The scripts by which shells complete our words, as the parser makes them, and what it does not know of them: a name that ends
/// with a slash is a folder, behind which typing goes on, and the command may be called by an alias.
enum CompletionScript {
    /// A script of the parser's, with that; any other text as it is.
    static func finished(_ text: String) -> String {
        let ofBash = "complete -o filenames -F _passdir passdir"
        if text.hasPrefix("#!/bin/bash"), text.contains(ofBash) {
            return text.replacing(ofBash, with: forBash)
        }
        if text.hasPrefix("#compdef passdir") { return text.replacing(ofZsh, with: forZsh) }
        return text
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
