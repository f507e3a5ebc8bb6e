# Completion of kubectl-k8sconnect, and of "kubectl k8sconnect", in bash 3.2 and newer. Unlike a general
# script, it reads the line as the shell would, because a path such as .spec.containers[name="app"] has
# characters that bash treats as quotes, patterns and ends of words.

# __k8sconnect_read splits the line before the cursor into words: their values in words, and what is typed
# of the last one in typed. open is the quote that it leaves open.
__k8sconnect_read() {
    local rest=$1 c raw='' value started=
    words=() typed='' open=''
    while [[ -n $rest ]]; do
        c=${rest:0:1} rest=${rest:1}
        if [[ -n $open ]]; then
            raw+=$c
            if [[ $c == \\ && $open == \" ]]; then
                raw+=${rest:0:1} rest=${rest:1}
            elif [[ $c == "$open" ]]; then
                open=''
            fi
            continue
        fi
        case $c in
        [[:space:]])
            if [[ -n $started ]]; then
                __k8sconnect_value "$raw"
                words+=("$value")
                raw='' started=
            fi
            continue
            ;;
        \\) raw+=$c${rest:0:1} rest=${rest:1} ;;
        \' | \") raw+=$c open=$c ;;
        *) raw+=$c ;;
        esac
        started=1
    done
    typed=$raw
    __k8sconnect_value "$raw$open"
    words+=("$value")
}

# __k8sconnect_value sets value to a word without its quotes. It expands variables, but runs nothing.
__k8sconnect_value() {
    local raw=$1 slashes=${1##*[!\\]}
    if ((${#slashes} % 2)); then
        raw=${raw%\\} # The escaped character is still missing.
    fi
    case $raw in
    *[\`\;\|\&\<\>\(\)]* | *\$\{*) value=$raw ;;
    *) eval "value=$raw" ;;
    esac
}

__k8sconnect_start() {
    local words typed open value
    __k8sconnect_read "${COMP_LINE:0:COMP_POINT}"
    while ((${#words[@]} > 1)) && [[ ${words[0]} == [A-Za-z_]*=* ]]; do
        words=("${words[@]:1}") # an assignment before the command
    done
    local program=${words[0]} first=1
    if ((${#words[@]} > 2)) && [[ ${words[1]} == k8sconnect ]]; then
        first=2
    elif [[ ${program##*/} == kubectl ]]; then
        __k8sconnect_kubectl "$@"
        return
    fi
    [[ ${program##*/} == kubectl-k8sconnect ]] || program=kubectl-k8sconnect # kubectl, or an alias

    local out line directive last=${words[${#words[@]} - 1]} flag='' candidates=() notes=()
    out=$("$program" __complete "${words[@]:first}" 2>/dev/null </dev/null) || return # No prompt for a password.
    directive=${out##*:}
    directive=${directive//[!0-9]/}
    out=${out%:*}
    [[ $last == -*=* ]] && flag=${last%%=*}=
    while IFS= read -r line; do
        if [[ -n $line && $line != _activeHelp_* && $flag${line%%$'\t'*} == "$last"* ]]; then
            candidates+=("$flag${line%%$'\t'*}")
            notes+=("$line")
        fi
    done <<<"$out"
    if ((directive & 1)); then
        return
    fi
    local files=''
    if ((directive & (8 | 16))) || { ((${#candidates[@]} == 0)) && ! ((directive & 4)); }; then
        files=1 candidates=()
        __k8sconnect_files "${last#"$flag"}" "$directive" "$out"
    fi
    if [[ $(type -t compopt) == builtin ]]; then
        ((directive & 2)) && compopt -o nospace
        ((directive & 32)) && compopt -o nosort 2>/dev/null
    fi

    # Readline replaces only what follows the last end of a word, such as "=" or ":".
    local replaced=$2 before
    case $typed in
    *"$replaced") ;;
    *) replaced=${typed##*["$COMP_WORDBREAKS"]} ;;
    esac
    case $replaced in
    [\'\"]*) replaced=${replaced:1} ;;
    [=:]) replaced='' ;;
    esac
    before=${typed%"$replaced"}
    local quote=$open
    __k8sconnect_value "$before$quote"
    local i rest=${#value}
    if [[ -n $files ]] && ((rest >= ${#flag})) && compopt -o filenames 2>/dev/null; then
        for ((i = 0; i < ${#candidates[@]}; i++)); do
            COMPREPLY+=("${candidates[i]:rest}") # Readline quotes it, and adds a slash to a folder.
        done
        return
    fi
    for ((i = 0; i < ${#candidates[@]}; i++)); do
        if [[ $COMP_TYPE == 63 && -z $files && ${#candidates[@]} -gt 1 ]]; then # It is only listed.
            line=${notes[i]}
            [[ $line == *$'\t'* ]] && line="${line%%$'\t'*}  (${line#*$'\t'})"
            COMPREPLY+=("$line")
            continue
        fi
        line=${candidates[i]:rest}
        case $open in
        \') ;;
        \") line=${line//\\/\\\\} line=${line//\"/\\\"} line=${line//\$/\\\$} line=${line//\`/\\\`} ;;
        *) [[ -n $line ]] && printf -v line %q "$line" ;;
        esac
        COMPREPLY+=("$line")
    done
}

# __k8sconnect_kubectl leaves the line to kubectl's own completion, which bash-completion loads when it is
# first needed.
__k8sconnect_kubectl() {
    local load
    for load in _comp_load __load_completion; do
        if [[ $(type -t __start_kubectl) != function && $(type -t "$load") == function ]]; then
            "$load" kubectl
            complete -F __k8sconnect_start kubectl
        fi
    done
    if [[ $(type -t __start_kubectl) == function ]]; then
        __start_kubectl "$@"
    elif [[ $(type -t compopt) == builtin ]]; then
        compopt -o default
    fi
}

# __k8sconnect_files adds the names of files and folders to candidates. With the directive 8, the words are
# the endings of files.
__k8sconnect_files() {
    local name endings
    endings=$(printf '|%s' $3)'|'
    while IFS= read -r name; do
        if (($2 & 16)) && [[ ! -d $name ]]; then
            continue
        fi
        if (($2 & 8)) && [[ ! -d $name && $endings != *"|${name##*.}|"* ]]; then
            continue
        fi
        candidates+=("$flag$name")
    done < <(compgen -f -- "$1")
}

if [[ $(type -t compopt) == builtin ]]; then
    complete -F __k8sconnect_start kubectl-k8sconnect kubectl
else
    complete -o nospace -F __k8sconnect_start kubectl-k8sconnect kubectl
fi
